// Whether a thread may read the time stamp counter: it may have given that up (PR_SET_TSC), and so have the threads
// that it makes. No file of the kernel's says so.
#pragma once

#include <sys/types.h>

namespace strobe {

// Has the thread, which the calling thread traces and which stands in a ptrace stop without a signal, execute one such
// instruction of the kernel's vDSO; then it stands there as before. 0: it may, or it cannot be known, as a trap would
// change what the program has asked for. ENOTSUP: it may not. EBUSY where the whole program was stopped by a signal
// just then, ESRCH where it ends. x86-64 alone; elsewhere 0.
int asks_for_clock(pid_t thread);

}  // namespace strobe
