#include "patch/injection/saved_state.h"

#ifdef __x86_64__

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include <csignal>

namespace strobe {

namespace {

constexpr std::uint64_t bit(int signal) { return std::uint64_t{1} << (signal - 1); }
constexpr std::uint64_t kFaults = bit(SIGSEGV) | bit(SIGBUS) | bit(SIGILL) | bit(SIGFPE) | bit(SIGTRAP) | bit(SIGSYS);
constexpr std::uint64_t kOfLibrary = bit(32) | bit(33);  // of glibc, for pthread_cancel and setuid
constexpr std::size_t kMostVectors = 1 << 14;            // bytes; 11 KB with all of today's extensions

bool set_blocked(pid_t thread, std::uint64_t signals) {
    return ptrace(PTRACE_SETSIGMASK, thread, sizeof signals, &signals) == 0;
}

}  // namespace

bool is_fault(int signal) { return (bit(signal) & kFaults) != 0; }

std::unique_ptr<SavedState> SavedState::of(pid_t thread) {
    std::unique_ptr<SavedState> saved(new SavedState(thread));
    if (ptrace(PTRACE_GETREGS, thread, nullptr, &saved->registers_) != 0 ||
        ptrace(PTRACE_GETSIGMASK, thread, sizeof saved->blocked_, &saved->blocked_) != 0) {
        return nullptr;
    }
    saved->vectors_.resize(kMostVectors);
    iovec all{saved->vectors_.data(), saved->vectors_.size()};
    const bool is_saved = ptrace(PTRACE_GETREGSET, thread, NT_X86_XSTATE, &all) == 0;
    saved->vectors_.resize(is_saved ? all.iov_len : 0);
    return saved;
}

void SavedState::block_signals() {
    if (!is_blocking_) is_blocking_ = set_blocked(thread_, ~(kFaults | kOfLibrary));
}

long SavedState::put_back() {
    iovec all{vectors_.data(), vectors_.size()};
    if (!vectors_.empty()) ptrace(PTRACE_SETREGSET, thread_, NT_X86_XSTATE, &all);
    if (is_blocking_ && set_blocked(thread_, blocked_)) is_blocking_ = false;
    return ptrace(PTRACE_SETREGS, thread_, nullptr, &registers_);
}

}  // namespace strobe

#endif
