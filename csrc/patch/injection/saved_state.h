// What a thread has before it is made to call functions.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace strobe {

// Of a thread that the calling thread traces: general and vector registers, and which signals it has blocked. x86-64
// alone.
class SavedState {
  public:
    // The thread stands in a ptrace stop. nullptr where it is gone.
    static std::unique_ptr<SavedState> of(pid_t thread);

    pid_t thread() const { return thread_; }
    const user_regs_struct& registers() const { return registers_; }
    // As PTRACE_GETREGSET has them: XSAVE's area. Empty where the kernel does not give them.
    const std::vector<char>& vectors() const { return vectors_; }
    // Signals: bit n - 1 for signal n.
    std::uint64_t blocked() const { return blocked_; }

    // From now on no signal is delivered but faults, those of the C library, SIGKILL and SIGSTOP: a handler that left
    // by siglongjmp would leave in the middle of the function. Threads that are created there take none either.
    void block_signals();
    // All is as it was. The general registers come last: from then on the thread may be let go of. Gives what ptrace
    // does.
    long put_back();

  private:
    explicit SavedState(pid_t thread) : thread_(thread) {}

    pid_t thread_;
    user_regs_struct registers_{};
    std::vector<char> vectors_;
    std::uint64_t blocked_ = 0;
    bool is_blocking_ = false;
};

// Of a kind that a call of the tracer's ends in, or may: these are never blocked meanwhile.
bool is_fault(int signal);

}  // namespace strobe
