// What asks the kernel for ptrace runs on a thread of its own.
#pragma once

#include <sys/types.h>

#include <exception>
#include <thread>

namespace strobe {

// Runs `work` on a new thread and waits for it; what it throws is thrown here. When a tracing thread ends the kernel
// lets go of all that it has seized, also of those that have not stopped yet, which nobody else can let go of.
template <typename Work>
void as_tracer(Work&& work) {
    std::exception_ptr error;
    std::thread tracer([&work, &error] {
        try {
            work();
        } catch (...) {
            error = std::current_exception();
        }
    });
    tracer.join();
    if (error) std::rethrow_exception(error);
}

// A system call with a timeout that was interrupted by a stop goes on by restart_syscall, which is a call of its own to
// a filter (seccomp) and may be forbidden there. Has the thread, which is in a ptrace stop, make the same call again
// instead, with the whole time, where it is under filters that this process is not under. To be called at the first
// stop after the call: once the thread has been resumed the kernel has changed the number. x86-64 alone.
void avoid_restart_syscall(pid_t thread);

// From now on, or no more, also where it is under none: the process is about to filter the calls of all its threads,
// and one that was let go of may not have got a processor until then.
void expect_filter(pid_t process, bool is_expected);

// Whether the thread is under filters of system calls (seccomp) that this process is not under.
bool is_filtered(pid_t thread);

// As waitpid of a thread that the calling thread traces, for what is not to be noticed outside: `avoid_restart_syscall`
// at each stop; and the end of a child of this very process, whose program may have been started here, is reported, but
// left for who waits for it.
pid_t wait_for_tracee(pid_t thread, int* status, int options);

// The status of the ptrace stop that the thread stands in, as waitpid has it; 0 where it does not. With
// `avoid_restart_syscall`: it may have come to the stop since it was waited for. And another thread of this process may
// have waited for it: one that waits for the end of its child sees that child's stops.
int status_of_stop(pid_t thread);

// Whether a status is that of a stop before or behind a system call; with PTRACE_O_TRACESYSGOOD.
bool is_call_stop(int status);

// The signal in whose delivery a thread with this status stands, which it has to be given when it goes on; or 0.
int signal_of_stop(int status);

// Detaches from a thread that stands in a stop, in whatever. A signal in whose delivery it stands is delivered. False
// where it does not stand.
bool let_go(pid_t thread);

// Whether the thread, which the calling thread traces, has ended, and nobody has waited for that yet.
bool has_ended(pid_t thread);

}  // namespace strobe
