// Which signals the threads of a process have blocked, and signals kept away from threads that a tracer has put there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace strobe {

// Blocks every signal in these threads of a process, which are the agent's, from outside, but those that the agent
// itself needs (SIGTRAP, SIGSYS and the C library's own): the kernel gives a signal for a process to any thread that
// does not block it, and a handler of the program that runs in a thread the program knows nothing of runs beside the
// handler that it believes to be alone. Threads that are gone are left out. A signal that one of them has just been
// given goes back to the process. Throws std::system_error: EPERM where another debugger holds one.
void block_signals(pid_t process, const std::vector<pid_t>& threads);

// All signals that some thread of a process has blocked, or will have when its handler, or a call that waits with
// another mask (sigsuspend, ppoll), returns; n as bit n - 1. All threads are held meanwhile. `agents`: threads that do
// not count. Throws std::system_error as ThreadStop does.
std::uint64_t blocked_signals(pid_t process, const std::vector<pid_t>& agents);

}  // namespace strobe
