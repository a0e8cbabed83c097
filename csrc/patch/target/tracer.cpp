#include "patch/target/tracer.h"

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <set>

#include "patch/target/task_state.h"

namespace strobe {

namespace {

bool is_own_child(pid_t thread) {
    const TaskStatus status(thread);
    return status.number("Tgid:") == static_cast<std::uint64_t>(thread) &&
           status.number("PPid:") == static_cast<std::uint64_t>(getpid());
}

bool is_end(const siginfo_t& info) {
    return info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
}

constexpr int kStopped = 0x7f;             // in the low byte of a status of wait(2)
constexpr int kCallStop = SIGTRAP | 0x80;  // in the byte above it

// As wait(2) would report an end that waitid has reported.
int status_of(const siginfo_t& end) {
    constexpr int kDumped = 0x80;
    if (end.si_code == CLD_EXITED) return end.si_status << 8;
    return end.si_code == CLD_DUMPED ? end.si_status | kDumped : end.si_status;
}

#ifdef __x86_64__

// What the kernel has a system call return for a moment when it is interrupted (linux/errno.h). No program sees either:
// after the first it calls restart_syscall, after the second the same again. A signal handler makes EINTR of both.
constexpr std::int64_t kRestartsByBlock = -516;
constexpr std::int64_t kRestartsUnlessHandled = -514;

#endif

// Linux before 5.9 does not count the filters.
std::uint64_t filters(const TaskStatus& status) {
    return status.has("Seccomp_filters:") ? status.number("Seccomp_filters:") : status.number("Seccomp:");
}

// Processes of which a filter is expected.
std::mutex filtering_lock;
std::set<pid_t> filtering;

#ifdef __x86_64__

bool is_filter_expected(pid_t thread) {
    const std::lock_guard<std::mutex> own(filtering_lock);
    return !filtering.empty() && filtering.contains(static_cast<pid_t>(TaskStatus(thread).number("Tgid:")));
}

#endif

}  // namespace

void expect_filter(pid_t process, bool is_expected) {
    const std::lock_guard<std::mutex> own(filtering_lock);
    if (is_expected) {
        filtering.insert(process);
    } else {
        filtering.erase(process);
    }
}

bool is_filtered(pid_t thread) { return filters(TaskStatus(thread)) > filters(TaskStatus(getpid())); }

#ifdef __x86_64__

void avoid_restart_syscall(pid_t thread) {
    user_regs_struct registers{};
    if (ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) return;  // it is gone
    const bool is_in_call = static_cast<std::int64_t>(registers.orig_rax) >= 0;
    if (!is_in_call || static_cast<std::int64_t>(registers.rax) != kRestartsByBlock) return;
    if (!is_filtered(thread) && !is_filter_expected(thread)) return;
    registers.rax = static_cast<std::uint64_t>(kRestartsUnlessHandled);
    ptrace(PTRACE_SETREGS, thread, nullptr, &registers);
}

#else

void avoid_restart_syscall(pid_t) {}

#endif

int status_of_stop(pid_t thread) {
    siginfo_t stop{};
    if (ptrace(PTRACE_GETSIGINFO, thread, nullptr, &stop) != 0) return 0;
    avoid_restart_syscall(thread);
    if (stop.si_signo == SIGTRAP && stop.si_code == kCallStop) return kCallStop << 8 | kStopped;
    const int event = stop.si_code >> 8;  // of a signal's own code, 0 or less
    return (event > 0 ? event << 8 | (stop.si_code & 0xff) : stop.si_signo) << 8 | kStopped;
}

bool is_call_stop(int status) { return WIFSTOPPED(status) && status >> 8 == kCallStop; }

int signal_of_stop(int status) { return status >> 16 != 0 || is_call_stop(status) ? 0 : WSTOPSIG(status); }

bool let_go(pid_t thread) {
    const int status = status_of_stop(thread);
    const std::intptr_t signal = signal_of_stop(status);
    return status != 0 && ptrace(PTRACE_DETACH, thread, nullptr, signal) == 0;
}

bool has_ended(pid_t thread) {
    siginfo_t found{};
    constexpr int kOptions = WEXITED | WNOWAIT | WNOHANG | __WALL;  // its stops are reported to the tracer nevertheless
    return waitid(P_PID, static_cast<id_t>(thread), &found, kOptions) == 0 && found.si_pid != 0 && is_end(found);
}

pid_t wait_for_tracee(pid_t thread, int* status, int options) {
    const auto id = static_cast<id_t>(thread);
    while (true) {
        siginfo_t found{};
        const int how = __WALL | (options & WNOHANG);
        const int looked = waitid(P_PID, id, &found, WEXITED | WSTOPPED | WNOWAIT | how);
        if (looked != 0 || found.si_pid == 0) return looked;
        if (is_end(found)) {
            if (!is_own_child(thread)) return waitpid(thread, status, options);
            if (status != nullptr) *status = status_of(found);  // stays a zombie
            return thread;
        }
        avoid_restart_syscall(thread);
        siginfo_t stop{};  // of the stop alone: it may have been killed meanwhile
        if (waitid(P_PID, id, &stop, WSTOPPED | WNOHANG | __WALL) != 0) return -1;
        if (stop.si_pid == 0) continue;
        if (status != nullptr) *status = stop.si_status << 8 | kStopped;
        return thread;
    }
}

}  // namespace strobe
