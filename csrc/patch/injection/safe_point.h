// Where a thread can be made to call a function of the C library, as a debugger does.
#pragma once

#include <sys/types.h>

#include <chrono>

namespace strobe {

// Brings a thread that the calling thread traces, and that is in a ptrace stop, to a point where it is in no function
// of the memory allocator, of fork or of the dynamic loader, not below a signal handler either: in other code, or in a
// system call that transfers data, or in which it stays. It runs until it is there, and is stopped again then.
// Signals are delivered on the way. Returns 0; ETIMEDOUT where no such point was found within `limit`, with the thread
// stopped all the same; EBUSY where the whole program was stopped by a signal or has called exec; ESRCH where it ends.
// x86-64 alone; elsewhere 0.
int reach_safe_point(pid_t thread, std::chrono::milliseconds limit);

// Removes the breakpoints of reach_safe_point from a thread in a ptrace stop. It does so itself, but where the thread
// was in an uninterruptible wait to the end. Async-signal-safe; changes errno.
void clear_breakpoints(pid_t thread);

// From a stop with a signal, which is dropped, into one without: if this process ended, the signal would be delivered.
// The thread runs nothing of its own meanwhile. `signal` is delivered on the way; its handler has not begun then.
// False where the thread is gone, or does not come to such a stop within 20 s.
bool stand_still(pid_t thread, int signal = 0);

}  // namespace strobe
