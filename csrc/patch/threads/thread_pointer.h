// Where a thread has its control block, by a short stop.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace strobe {

// The thread pointer (fs on x86-64, tpidr_el0 on aarch64). Holds the thread for some microseconds; a signal on its way
// to it is delivered. Throws std::system_error: EPERM where another debugger holds it, ESRCH where it is gone or ends.
std::uint64_t thread_pointer(pid_t thread);

}  // namespace strobe
