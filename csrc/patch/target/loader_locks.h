// The locks of a process's dynamic loader.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "patch/target/process_memory.h"

namespace strobe {

// Those of glibc's loader; none where another one, or none, is at work.
class LoaderLocks {
  public:
    // `thread`: any of the process. `memory`: the process's, which outlives this.
    LoaderLocks(pid_t thread, const ProcessMemory& memory);

    // The threads that hold one at this moment, as in the middle of dlopen, dlclose or dl_iterate_phdr; others that
    // load a library wait for them. By their numbers in the process's own PID namespace: see `own_number`.
    std::vector<pid_t> owners() const;
    // Has the owner wake who waits for its locks when it gives them back, by a system call, though nobody may wait. It
    // must stand still. Does nothing where that cannot be written.
    void mark_waited_for(pid_t owner) const;
    // Frees those whose owner is another one: in a forked child, which has none of the other threads. Throws
    // std::system_error where that cannot be written.
    void free_but_of(pid_t owner) const;

  private:
    struct Taken {
        std::uint64_t address;
        pid_t owner;
    };
    std::vector<Taken> taken() const;

    const ProcessMemory& memory_;
    std::uint64_t address_ = 0, size_ = 0;  // of the loader's data, which has its locks
};

// Where the process's dynamic loader is; 0 for a static program. `thread`: any of the process.
std::uint64_t loader_base(pid_t thread);

// The thread's number in its own PID namespace.
pid_t own_number(pid_t thread);

// Whether the thread holds one.
bool holds_loader_lock(pid_t thread, const ProcessMemory& memory);

}  // namespace strobe
