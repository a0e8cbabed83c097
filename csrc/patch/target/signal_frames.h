// What signal handlers will return to: the contexts that the kernel has saved on stacks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "patch/target/page_map.h"
#include "patch/target/process_memory.h"

namespace strobe {

// `place`: where `pc` is saved. `mask`: what the thread will have blocked then, signal n as bit n - 1. `is_breakpoint`:
// it is of a handler that a breakpoint instruction has called, and which will have the thread go on elsewhere.
struct SavedContext {
    std::uint64_t place;
    std::uint64_t pc;
    std::uint64_t mask;
    bool is_breakpoint;
};

// Of a process whose threads are held for as long as this lives. x86-64 alone; elsewhere there are none.
class SignalFrames {
  public:
    SignalFrames(pid_t process, const ProcessMemory& memory);

    // Those that lie above a stack pointer in the same mapping, up to 64 MiB, and those on the stacks that these return
    // to.
    std::vector<SavedContext> above(std::uint64_t stack_pointer);
    // Those of all memory that only the process itself can write to: of coroutines, too, that were switched away from
    // inside a handler, and what handlers that have returned have left behind. Where more than 128 MiB are in use the
    // largest mappings are left out, and all of it where the kernel does not say what is in use.
    std::vector<SavedContext> anywhere();
    // Whether `place` lies below the stack pointer on the thread's own stack: that handler has returned.
    bool is_left(std::uint64_t place, std::uint64_t stack_pointer, std::uint64_t thread_pointer) const;

  private:
    struct Mapping {
        std::uint64_t start;
        std::uint64_t end;
        bool is_executable;
        bool is_private_data;
        bool is_main_stack;
    };

    const Mapping* mapping_of(std::uint64_t address) const;
    bool is_restorer(std::uint64_t address);
    bool has_floats(std::uint64_t address) const;
    void scan(const std::vector<std::uint64_t>& words, std::uint64_t address, std::vector<SavedContext>& found,
              std::vector<std::uint64_t>& stacks);
    std::uint64_t scan_pages(const PageMap& pagemap, const Mapping& mapping, std::uint64_t most,
                             std::vector<SavedContext>& found);
    void scan_stack(std::uint64_t stack_pointer, std::uint64_t end, std::vector<SavedContext>& found,
                    std::vector<std::uint64_t>& stacks);

    pid_t process_;
    const ProcessMemory& memory_;
    std::vector<Mapping> mappings_;                      // by address
    std::unordered_map<std::uint64_t, bool> restorers_;  // what has been looked at
};

}  // namespace strobe
