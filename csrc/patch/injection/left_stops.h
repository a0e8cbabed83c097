// Threads that another thread of this process has stopped by ptrace, and does not let go of.
#pragma once

#include <sys/types.h>

namespace strobe {

// Has `tracer`, a thread of this process, let go of `thread`, which it traces: nobody else can. A signal that the
// thread was about to be given is given to it, and the end of one that was killed is left to its parent. False where it
// could not be done, as while the thread has not stopped.
bool detach_by(pid_t tracer, pid_t thread);

}  // namespace strobe
