#include "patch/threads/thread_stop.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>

#include "patch/target/task_state.h"
#include "patch/target/tracer.h"

namespace strobe {

namespace {

using Clock = std::chrono::steady_clock;

// A thread in such a wait, as vfork's parent is, stops only when that is over; others wait for it meanwhile.
constexpr auto kUninterruptible = std::chrono::milliseconds(20);
constexpr char kTracingStop = 't';
// A thread that can run has only to be given a processor, which has taken 10 s on very busy machines.
constexpr char kRunnable = 'R';
constexpr auto kLongestUnserved = std::chrono::seconds(20);
constexpr auto kForNext = std::chrono::milliseconds(50);  // where one that can run took all the time
constexpr auto kBetweenLooks = std::chrono::milliseconds(2);

[[noreturn]] void fail(int error, const char* what) { throw std::system_error(error, std::generic_category(), what); }

// A thread that has ended but is still listed: the main thread of a process whose others go on, for one.
bool is_dead(pid_t process, pid_t id) {
    const char state = task_state(process, id);
    return state == 'Z' || state == 'X';
}

bool get_registers(pid_t thread, user_regs_struct& registers) {
    iovec whole{&registers, sizeof registers};
    return ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &whole) == 0;
}

auto& pc_of(user_regs_struct& registers) {
#ifdef __x86_64__
    return registers.rip;
#else
    return registers.pc;
#endif
}

// A breakpoint instruction has been executed, and its signal not been delivered yet: the thread stands behind it, where
// it will not go on.
bool has_breakpoint_pending(pid_t thread) {
    constexpr std::size_t kMost = 16;
    std::array<siginfo_t, kMost> pending{};
    __ptrace_peeksiginfo_args asked{0, 0, kMost};
    const long count = ptrace(PTRACE_PEEKSIGINFO, thread, &asked, pending.data());
    const auto is_trap = [](const siginfo_t& one) { return one.si_signo == SIGTRAP && one.si_code == SI_KERNEL; };
    return count > 0 && std::any_of(pending.begin(), pending.begin() + count, is_trap);
}

std::uint64_t stack_pointer_of(const user_regs_struct& registers) {
#ifdef __x86_64__
    return registers.rsp;
#else
    return registers.sp;
#endif
}

std::uint64_t thread_pointer_of(const user_regs_struct& registers) {
#ifdef __x86_64__
    return registers.fs_base;
#else
    (void)registers;
    return 0;
#endif
}

}  // namespace

ThreadStop::ThreadStop(pid_t process, std::chrono::milliseconds limit, Others others)
    : process_(process), deadline_(Clock::now() + limit), last_(deadline_ + kLongestUnserved), others_(others) {
    // stopped threads create no others, so a round that finds none is the last
    while (seize_new()) {
    }
    if (threads_.empty() && held_by_others_.empty()) fail(ESRCH, "the process is gone");
}

ThreadStop::~ThreadStop() {
    for (const pid_t thread : threads_) let_go(thread);  // after a failure, in any stop
}

bool ThreadStop::seize_new() {
    const std::size_t known = threads_.size();
    const auto has = [](const std::vector<pid_t>& ids, pid_t id) { return std::ranges::find(ids, id) != ids.end(); };
    const std::vector<pid_t> tasks = task_ids(process_);
    if (tasks.empty()) fail(ESRCH, "the process is gone");
    for (const pid_t id : tasks) {
        if (has(threads_, id) || has(held_by_others_, id) || is_dead(process_, id)) continue;
        if (ptrace(PTRACE_SEIZE, id, nullptr, nullptr) != 0) {
            const int error = errno;
            const char state = task_state(process_, id);
            if (error == ESRCH || is_dead(process_, id)) continue;
            if (others_ != Others::kMayHold || state != kTracingStop) fail(error, "a thread cannot be stopped");
            held_by_others_.push_back(id);
            continue;
        }
        ptrace(PTRACE_INTERRUPT, id, nullptr, nullptr);
        threads_.push_back(id);
    }
    const bool found = threads_.size() > known;
    for (std::size_t i = known; i < threads_.size(); i++) wait_stopped(threads_[i]);
    std::erase(threads_, 0);
    return found;
}

// The status of waitpid; 0, also in `thread`, when the thread has ended.
int ThreadStop::next_stop(pid_t& thread) {
    auto next_look = Clock::now() + kBetweenLooks;
    Clock::time_point blocked_since{};
    int status = 0;
    while (true) {
        const pid_t found = wait_for_tracee(thread, &status, __WALL | WNOHANG);
        if (found < 0 || (found == thread && !WIFSTOPPED(status))) {
            thread = 0;
            return 0;
        }
        if (found == thread) {
            if (Clock::now() > deadline_) deadline_ = std::min(last_, Clock::now() + kForNext);
            return status;
        }
        const auto now = Clock::now();
        if (now > next_look) {
            next_look = now + kBetweenLooks;
            const char state = task_state(process_, thread);
            if (state == kTracingStop && (status = status_of_stop(thread)) != 0) return status;
            if (now > (state == kRunnable ? last_ : deadline_)) {
                fail(ETIMEDOUT, "a thread does not stop");
            }
            if (state != 'D') {
                blocked_since = {};
            } else if (blocked_since == Clock::time_point{}) {
                blocked_since = now;
            } else if (now - blocked_since > kUninterruptible) {
                fail(ETIMEDOUT, "a thread is in an uninterruptible wait");
            }
        }
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
}

void ThreadStop::wait_stopped(pid_t& thread) {
    while (true) {
        const int status = next_stop(thread);
        if (thread == 0) return;
        const bool is_event = status >> 16 == PTRACE_EVENT_STOP;
        if (is_event && !has_breakpoint_pending(thread)) return;
        if (is_event) {  // the kernel would answer another interrupt before it delivers the signal, again and again
            ptrace(PTRACE_CONT, thread, nullptr, 0);
            continue;
        }
        // a signal on its way to the program: its handler is begun, and held at its first instruction
        ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);  // any stop answers the one before
        ptrace(PTRACE_CONT, thread, nullptr, status >> 16 == 0 ? WSTOPSIG(status) : 0);
    }
}

std::vector<ThreadPlace> ThreadStop::places() const {
    std::vector<ThreadPlace> found;
    for (const pid_t thread : threads_) {
        user_regs_struct registers{};
        if (!get_registers(thread, registers)) continue;
        found.push_back({thread, pc_of(registers), stack_pointer_of(registers), thread_pointer_of(registers)});
    }
    return found;
}

std::uint64_t ThreadStop::signal_mask(pid_t thread) {
    std::uint64_t mask = 0;
    return ptrace(PTRACE_GETSIGMASK, thread, sizeof mask, &mask) == 0 ? mask : 0;
}

bool ThreadStop::unblock(pid_t thread, int signal) {
    const std::uint64_t bit = std::uint64_t{1} << (signal - 1);
    const TaskStatus status(thread);
    if (((status.number("SigPnd:", 16) | status.number("ShdPnd:", 16)) & bit) != 0) return false;
    const std::uint64_t mask = signal_mask(thread) & ~bit;
    return ptrace(PTRACE_SETSIGMASK, thread, sizeof mask, &mask) == 0;
}

void ThreadStop::set_pc(pid_t thread, std::uint64_t pc) {
    user_regs_struct registers{};
    if (!get_registers(thread, registers)) return;  // it was killed
    pc_of(registers) = pc;
    iovec whole{&registers, sizeof registers};
    if (ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &whole) != 0 && errno != ESRCH) {
        fail(errno, "a thread cannot be moved");
    }
}

}  // namespace strobe
