#include "patch/safe_point.h"

#ifdef __x86_64__

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "patch/exports.h"
#include "patch/loader_locks.h"
#include "patch/process_memory.h"
#include "patch/signal_frames.h"
#include "patch/task_state.h"

namespace strobe {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenLooks = std::chrono::milliseconds(2);
// Longer than the allocator waits for a lock of its own, which no thread holds for long.
constexpr auto kLongWait = std::chrono::milliseconds(10);
constexpr auto kLongestStop = std::chrono::seconds(1);  // it has only to be given a processor
constexpr auto kShortestRun = std::chrono::microseconds(100);
constexpr int kLongestRun = 16;  // of the shortest
constexpr int kLooksBeforeSteps = 8;
constexpr int kMostSteps = 2000;  // most functions of the allocator return within some hundred
constexpr int kEventStop = 128;   // PTRACE_EVENT_STOP
constexpr int kMostPending = 8;
constexpr std::array<unsigned char, 2> kSystemCall{0x0f, 0x05};
constexpr std::size_t kAccumulator = 3;  // words from rip back to rax in struct sigcontext

enum class Code : std::uint8_t { kOther, kAllocator, kLoader, kUnknown };
// kWaits: the allocator makes such calls, too, but is not long in them.
enum class Point : std::uint8_t { kSafe, kWaits, kUnsafe };

Point point_of_call(std::uint64_t number) {
    switch (number) {
        case SYS_futex:
        case SYS_nanosleep:
        case SYS_clock_nanosleep:
            return Point::kWaits;
        case SYS_read:
        case SYS_write:
        case SYS_readv:
        case SYS_writev:
        case SYS_pread64:
        case SYS_pwrite64:
        case SYS_preadv:
        case SYS_pwritev:
        case SYS_poll:
        case SYS_ppoll:
        case SYS_select:
        case SYS_pselect6:
        case SYS_epoll_wait:
        case SYS_epoll_pwait:
        case SYS_accept:
        case SYS_accept4:
        case SYS_connect:
        case SYS_recvfrom:
        case SYS_recvmsg:
        case SYS_recvmmsg:
        case SYS_sendto:
        case SYS_sendmsg:
        case SYS_sendmmsg:
        case SYS_sendfile:
        case SYS_splice:
        case SYS_wait4:
        case SYS_waitid:
        case SYS_pause:
        case SYS_rt_sigsuspend:
        case SYS_rt_sigtimedwait:
        case SYS_msgrcv:
        case SYS_msgsnd:
        case SYS_semop:
        case SYS_semtimedop:
        case SYS_flock:
        case SYS_fsync:
        case SYS_fdatasync:
        case SYS_io_getevents:
            return Point::kSafe;
        default:
            return Point::kUnsafe;
    }
}

Code code_of(const ProcessMemory& memory, std::uint64_t base) {
    const Exports exports(memory, base);
    if (exports.has("_r_debug")) return Code::kLoader;
    // What allocates; the C library, which does and has locks besides; what walks the loader's list of libraries.
    const bool is_involved = exports.has("malloc") || exports.has("calloc") || exports.has("pthread_create") ||
                             exports.has("_Unwind_RaiseException");
    return is_involved ? Code::kAllocator : Code::kOther;
}

class Walk {
  public:
    Walk(pid_t thread, std::chrono::milliseconds limit)
        : thread_(thread), memory_(thread), deadline_(Clock::now() + limit) {}

    int reach() {
        read_mappings();
        for (int looks = 0;; looks++) {
            Point point = judge();
            if (point == Point::kWaits && !is_past()) point = judge_waiting();
            if (point == Point::kUnsafe && looks >= kLooksBeforeSteps) point = step();
            if (error_ != 0) return error_;
            if (point == Point::kSafe && !holds_loader_lock(thread_, memory_) && is_outside_handlers()) return settle();
            if (is_past()) return ETIMEDOUT;
            run_ = run_ < kLongestRun ? run_ * 2 : 1;
            go_on(PTRACE_CONT, kShortestRun * run_);
            if (error_ != 0) return error_;
        }
    }

  private:
    struct Mapping {
        std::uint64_t start, end;
        std::uint64_t base;  // where the beginning of its file is mapped
        std::string path;    // as /proc/PID/maps has it, "" for memory that is no file's
    };

    bool is_past() const { return Clock::now() >= deadline_; }

    void read_mappings() {
        mappings_.clear();
        std::map<std::string, std::uint64_t> bases;
        std::ifstream file("/proc/" + std::to_string(thread_) + "/maps");
        for (std::string line; std::getline(file, line);) {
            Mapping mapping{};
            std::uint64_t offset = 0;
            std::array<char, 5> access{};
            int path = 0;
            if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*s %n", &mapping.start, &mapping.end, access.data(),
                            &offset, &path) != 4) {
                continue;
            }
            mapping.path = line.substr(std::min(static_cast<std::size_t>(path), line.size()));
            if (offset == 0) bases[mapping.path] = mapping.start;
            mapping.base = bases[mapping.path];
            if (access[2] == 'x') mappings_.push_back(std::move(mapping));
        }
    }

    const Mapping* mapping_of(std::uint64_t address) const {
        const auto next = std::ranges::upper_bound(mappings_, address, {}, &Mapping::start);
        if (next == mappings_.begin() || address >= std::prev(next)->end) return nullptr;
        return &*std::prev(next);
    }

    Code code_at(std::uint64_t pc) {
        const Mapping* mapping = mapping_of(pc);
        if (mapping == nullptr) {
            read_mappings();  // a library that has come meanwhile
            mapping = mapping_of(pc);
        }
        if (mapping == nullptr) return Code::kUnknown;
        if (mapping->path.empty()) return Code::kOther;  // made at run time
        if (mapping->path.front() == '[') return Code::kUnknown;
        const auto [known, is_new] = modules_.try_emplace(mapping->base, Code::kOther);
        if (is_new) known->second = code_of(memory_, mapping->base);
        return known->second;
    }

    Point judge() {
        user_regs_struct registers{};
        if (ptrace(PTRACE_GETREGS, thread_, nullptr, &registers) != 0) {
            error_ = ESRCH;
            return Point::kUnsafe;
        }
        stack_pointer_ = registers.rsp;
        call_ = registers.orig_rax;
        const Code code = code_at(registers.rip);
        if (code == Code::kLoader || code == Code::kUnknown) return Point::kUnsafe;
        if (static_cast<std::int64_t>(call_) >= 0) return point_of_call(call_);
        return code == Code::kOther ? Point::kSafe : Point::kUnsafe;
    }

    Point step() {
        Point point = Point::kUnsafe;
        for (int steps = 0; point == Point::kUnsafe && steps < kMostSteps && error_ == 0 && !is_past(); steps++) {
            go_on(PTRACE_SINGLESTEP, Clock::duration::zero());
            if (error_ == 0) point = judge();
        }
        return point;
    }

    // Into a stop that is no signal's: it would be delivered if this process ended now. Nothing of the program runs.
    int settle() { return stand_still(thread_) ? 0 : ESRCH; }

    Point judge_waiting() {
        const std::uint64_t stack_pointer = stack_pointer_;
        const std::uint64_t call = call_;
        go_on(PTRACE_CONT, kLongWait);
        if (error_ != 0) return Point::kUnsafe;
        const Point point = judge();
        if (point != Point::kWaits) return point;
        return stack_pointer == stack_pointer_ && call == call_ ? Point::kSafe : Point::kUnsafe;
    }

    // What the handlers that the thread is in, if any, will return to.
    bool is_outside_handlers() {
        SignalFrames frames(thread_, memory_);
        return std::ranges::all_of(frames.above(stack_pointer_), [this](const SavedContext& context) {
            const Code code = code_at(context.pc);
            if (code == Code::kOther) return true;
            return code == Code::kAllocator && is_at_call(context);
        });
    }

    bool is_at_call(const SavedContext& context) const {
        std::int64_t result = 0;
        std::array<unsigned char, 4> around{};
        memory_.read(context.place - 8 * kAccumulator, &result, sizeof result);
        memory_.read(context.pc - kSystemCall.size(), around.data(), around.size());
        const bool is_before = std::equal(kSystemCall.begin(), kSystemCall.end(), around.begin() + kSystemCall.size());
        if (is_before) return point_of_call(static_cast<std::uint64_t>(result)) != Point::kUnsafe;
        return result == -EINTR && std::equal(kSystemCall.begin(), kSystemCall.end(), around.begin());
    }

    // Lets it step, or run for `time`, and stops it. Signals on their way to the program are delivered.
    void go_on(enum __ptrace_request how, Clock::duration time) {
        resume(how, 0);
        if (how == PTRACE_CONT) {
            std::this_thread::sleep_for(time);
            ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr);
        }
        is_interrupted_ = how == PTRACE_CONT;
        auto next_look = Clock::now() + kBetweenLooks;
        while (error_ == 0) {
            siginfo_t stop{};
            // without WEXITED: its parent is to be told how it ended
            if (waitid(P_PID, static_cast<id_t>(thread_), &stop, WSTOPPED | WNOHANG | __WALL) != 0) {
                error_ = ESRCH;
            } else if (stop.si_pid == 0) {
                if (Clock::now() > next_look) look(next_look);
                std::this_thread::yield();
            } else if (is_settled(stop.si_status, how)) {
                return;
            }
        }
    }

    void resume(enum __ptrace_request how, int signal) {
        if (ptrace(how, thread_, nullptr, signal) != 0) error_ = ESRCH;
    }

    // It does not stop: a step is a system call that waits, or the thread has ended.
    void look(Clock::time_point& next_look) {
        next_look = Clock::now() + kBetweenLooks;
        const char state = task_state(thread_, thread_);
        if (state == 'Z' || state == 'X') error_ = ESRCH;
        if (!is_interrupted_ && state != 'R') ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr);
        is_interrupted_ = is_interrupted_ || state != 'R';
        if (Clock::now() > deadline_ + kLongWait && state == 'D') error_ = ETIMEDOUT;
    }

    // Whether the thread stands still with no signal to be delivered.
    bool is_settled(int status, enum __ptrace_request how) {
        const int signal = status & 0xff;
        const int event = status >> 8;
        if (event == kEventStop && signal == SIGTRAP) {
            if (how != PTRACE_SINGLESTEP || !has_trap_pending()) return true;
            resume(PTRACE_CONT, 0);  // the step has ended, too, which is told next
            return false;
        }
        if (event != 0) {
            error_ = EBUSY;
            return true;
        }
        siginfo_t info{};
        const bool is_known = ptrace(PTRACE_GETSIGINFO, thread_, nullptr, &info) == 0;
        if (how == PTRACE_SINGLESTEP && is_known && is_step_end(info)) return true;
        ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr);  // any stop answers the one before
        is_interrupted_ = true;
        resume(PTRACE_CONT, signal);
        return false;
    }

    // The end of a step is a signal.
    bool has_trap_pending() const {
        std::array<siginfo_t, kMostPending> pending{};
        __ptrace_peeksiginfo_args wanted{0, 0, kMostPending};
        const long count = ptrace(PTRACE_PEEKSIGINFO, thread_, &wanted, pending.data());
        return std::any_of(pending.begin(), pending.begin() + std::max(count, 0L), is_step_end);
    }

    static bool is_step_end(const siginfo_t& signal) {
        return signal.si_signo == SIGTRAP && (signal.si_code == TRAP_TRACE || signal.si_code == TRAP_BRKPT);
    }

    pid_t thread_;
    ProcessMemory memory_;
    Clock::time_point deadline_;
    std::vector<Mapping> mappings_;          // of code, by address
    std::map<std::uint64_t, Code> modules_;  // what has been looked up, by base
    std::uint64_t stack_pointer_ = 0, call_ = 0;
    int run_ = 1;
    int error_ = 0;
    bool is_interrupted_ = false;
};

}  // namespace

int reach_safe_point(pid_t thread, std::chrono::milliseconds limit) { return Walk(thread, limit).reach(); }

bool stand_still(pid_t thread) {
    ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    if (ptrace(PTRACE_CONT, thread, nullptr, nullptr) != 0) return false;
    const auto deadline = Clock::now() + kLongestStop;
    while (Clock::now() < deadline) {
        siginfo_t stop{};
        if (waitid(P_PID, static_cast<id_t>(thread), &stop, WSTOPPED | WNOHANG | __WALL) != 0) return false;
        if (stop.si_pid != 0) return stop.si_status >> 8 == kEventStop;
        std::this_thread::yield();
    }
    return false;
}

}  // namespace strobe

#else

namespace strobe {

int reach_safe_point(pid_t, std::chrono::milliseconds) { return 0; }

bool stand_still(pid_t) { return true; }

}  // namespace strobe

#endif
