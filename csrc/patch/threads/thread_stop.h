// Holds all threads of a process still for as long as an object lives: ptrace(2), PTRACE_SEIZE, which needs no signal.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace strobe {

// Where a thread that is held stands.
struct ThreadPlace {
    pid_t thread;
    std::uint64_t pc;
    std::uint64_t stack_pointer;
    std::uint64_t thread_pointer;  // 0 where the kernel does not say
};

// All of it must happen on one OS thread, because the kernel takes ptrace requests from the tracing thread alone, and
// within as_tracer, so that threads which did not stop in time are let go of, too.
class ThreadStop {
  public:
    enum class Others : std::uint8_t { kRefused, kMayHold };

    // Stops every thread, those that are created meanwhile included. Throws std::system_error: EPERM where another
    // debugger holds the process, ESRCH where it is gone, ETIMEDOUT where a thread does not stop within `limit` (20 s
    // more where no processor is free for it), or is in an uninterruptible wait for 20 ms of that. With kMayHold a
    // thread that another one holds stopped is left as it is, and has no place.
    ThreadStop(pid_t process, std::chrono::milliseconds limit, Others others = Others::kRefused);
    ThreadStop(const ThreadStop&) = delete;
    ThreadStop& operator=(const ThreadStop&) = delete;
    // Lets go of all; signals that arrived meanwhile are delivered then.
    ~ThreadStop();

    // Of those threads that still live.
    std::vector<ThreadPlace> places() const;
    // Lets the thread go on there; one that was killed does not. Throws std::system_error.
    static void set_pc(pid_t thread, std::uint64_t pc);
    // Signals that the thread has blocked, n as bit n - 1; where a system call has set others while it waits
    // (sigsuspend, ppoll), those that it comes back to. 0 where it was killed.
    static std::uint64_t signal_mask(pid_t thread);
    // False where it was killed, or `signal` waits for the thread to unblock it.
    static bool unblock(pid_t thread, int signal);

  private:
    bool seize_new();
    void wait_stopped(pid_t& thread);
    int next_stop(pid_t& thread);

    pid_t process_;
    std::chrono::steady_clock::time_point deadline_;
    std::chrono::steady_clock::time_point last_;  // for threads that can run
    Others others_;
    std::vector<pid_t> threads_;
    std::vector<pid_t> held_by_others_;
};

}  // namespace strobe
