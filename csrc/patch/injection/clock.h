// Whether a thread may read the time stamp counter: it may have given that up (PR_SET_TSC), and so have the threads
// that it makes. No file of the kernel's says so.
#pragma once

#include <sys/types.h>

namespace strobe {

class WayBack;

// The thread stands in a ptrace stop without a signal, from which the way back is, and does so afterwards. 0: it may,
// or it cannot be known. ENOTSUP: it may not. EBUSY where the whole program was stopped by a signal just then,
// ETIMEDOUT where another signal came, ESRCH where it ends. x86-64 alone; elsewhere 0.
int asks_for_clock(pid_t thread, WayBack& way_back);

}  // namespace strobe
