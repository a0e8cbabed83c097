// How a thread that is made to call a function comes back by itself, should the process that traces it be killed.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include "patch/injection/saved_state.h"

namespace strobe {

// The thread, which the calling thread traces, calls functions one after the other. Each returns to a system call,
// rt_sigreturn, that finds everything on the stack as it was before the first: general and vector registers, and which
// signals are blocked. The tracer sees that call coming and has it not made; where there is no tracer any more the
// kernel makes it. At every moment from `depart` to `restore` the thread may be let go of.
// There is none before Linux 5.3, which does not tell what call a thread is about to make, in programs without a usual
// C library, and where the main thread does not stand on its own stack. The thread is traced with
// PTRACE_O_TRACESYSGOOD, as Frida does: without it the kernel does not tell of that call. x86-64 alone.
class WayBack {
  public:
    // As long as the end of a function is waited for, which takes some microseconds.
    static constexpr auto kLongestCall = std::chrono::milliseconds(20);

    // The thread stands in a ptrace stop without a signal, in which `saved` was made, which outlives this. nullptr
    // where there is no way back.
    static std::unique_ptr<WayBack> to(SavedState& saved);

    // Everything is to be as `call` says, but for the stack pointer, at which there is a return address, and for
    // signals: none is delivered, but for faults and those of the C library. False where there is no way back from
    // that function, and nothing has been done.
    bool depart(const user_regs_struct& call);
    // As PTRACE_CONT, after `depart`.
    long go_on(std::uintptr_t signal);
    // Waits for the function's end, `kLongestCall` at most.
    void await_end();
    // The thread was found in this stop, as waitpid has it. Gives the stop that its tracer is to be told of: one for
    // SIGSEGV where the function has returned, as if there were nothing at its return address; 0: it goes on.
    int seen(int status);
    // Of what `await_end` has found; 0 where it has found nothing.
    int take_found();

    // Whether the thread has gone, and is not back yet.
    bool is_away() const { return is_away_; }
    // Registers as the function has left them; nullptr where it has not returned.
    const user_regs_struct* returned() const { return is_back_ ? &returned_ : nullptr; }
    // Everything is as before the first call. Gives what ptrace does.
    long restore();

    // Has the thread make a call of prctl(2): what that returns; a negative error number. Then it stands as before.
    // -EBUSY where the whole program was stopped by a signal just then, -ETIMEDOUT where another signal came,
    // -ESRCH where it ends.
    std::int64_t call_prctl(std::uint64_t option, std::uint64_t argument);
    // Unused memory, on the thread's stack.
    std::uint64_t scratch() const;

  private:
    explicit WayBack(SavedState& saved) : saved_(saved), thread_(saved.thread()) {}
    bool find_library();
    bool is_on_own_stack() const;
    bool write_frame(std::uint64_t stack);
    std::uint64_t restorer_for(const user_regs_struct& call);
    bool is_system_call(std::uint64_t function) const;
    user_regs_struct at_restorer() const;
    void arrive();
    long put_back();
    int give_way(int signal);

    SavedState& saved_;
    pid_t thread_;
    std::uint64_t library_ = 0;                  // where the C library begins
    std::uint64_t restorer_ = 0;                 // its `mov rax, 15; syscall`
    std::uint64_t memory_ = 0, memory_end_ = 0;  // what the last call of mmap gave, if it can be written and executed
    std::uint64_t keeper_ = 0;   // code there that keeps a result and returns; 0 where the call does not return there
    std::uint64_t frame_ = 0;    // on the stack, of the call
    user_regs_struct called_{};  // what the tracer wanted
    std::uint64_t return_address_ = 0;  // as well
    std::int64_t last_result_ = 0;      // of a system call
    user_regs_struct returned_{};
    int found_ = 0;
    bool is_away_ = false, is_back_ = false;
};

}  // namespace strobe
