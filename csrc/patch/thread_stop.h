// Holds all threads of a process still for as long as an object lives: ptrace(2), PTRACE_SEIZE, which needs no signal.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace strobe {

// All of it must happen on one OS thread, because the kernel takes ptrace requests from the tracing thread alone.
class ThreadStop {
  public:
    // Stops every thread, those that are created meanwhile included. Throws std::system_error: EPERM where another
    // debugger holds the process, ESRCH where it is gone, ETIMEDOUT where a thread does not stop within ten seconds.
    explicit ThreadStop(pid_t process);
    ThreadStop(const ThreadStop&) = delete;
    ThreadStop& operator=(const ThreadStop&) = delete;
    // Lets go of all; signals that arrived meanwhile are delivered then.
    ~ThreadStop();

    // Lets each thread whose program counter `is_forbidden` run on, instruction by instruction, until it is not. Throws
    // ETIMEDOUT where that does not come to pass.
    void leave(const std::function<bool(std::uint64_t)>& is_forbidden);

  private:
    struct Thread {
        pid_t id;  // 0 when it has ended
    };

    void release();
    bool seize_new();
    int next_stop(Thread& thread);
    void wait_stopped(Thread& thread);
    void step(Thread& thread);
    void step_out(Thread& thread, const std::function<bool(std::uint64_t)>& is_forbidden);

    pid_t process_;
    std::vector<Thread> threads_;
};

}  // namespace strobe
