// What signal handlers will return to: the contexts that the kernel has saved on stacks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

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

// Of a process whose threads are held for as long as this lives. Found are the frames that lie above a stack pointer in
// the same mapping, up to 64 MiB, and those on the stacks that these return to; not the frames of a coroutine that was
// switched away from inside a handler. x86-64 alone; elsewhere there are none.
class SignalFrames {
  public:
    SignalFrames(pid_t process, const ProcessMemory& memory);

    std::vector<SavedContext> above(std::uint64_t stack_pointer);

  private:
    struct Mapping {
        std::uint64_t start;
        std::uint64_t end;
        bool is_executable;
    };

    const Mapping* mapping_of(std::uint64_t address) const;
    bool is_restorer(std::uint64_t address);
    bool has_floats(std::uint64_t address) const;
    void scan(const std::vector<std::uint64_t>& words, std::uint64_t address, std::vector<SavedContext>& found,
              std::vector<std::uint64_t>& stacks);
    void scan_stack(std::uint64_t stack_pointer, std::uint64_t end, std::vector<SavedContext>& found,
                    std::vector<std::uint64_t>& stacks);

    const ProcessMemory& memory_;
    std::vector<Mapping> mappings_;                      // by address
    std::unordered_map<std::uint64_t, bool> restorers_;  // what has been looked at
};

}  // namespace strobe
