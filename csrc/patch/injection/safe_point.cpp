#include "patch/injection/safe_point.h"

#ifdef __x86_64__

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "patch/target/exports.h"
#include "patch/target/loader_locks.h"
#include "patch/target/process_memory.h"
#include "patch/target/signal_frames.h"
#include "patch/target/task_state.h"
#include "patch/target/tracer.h"

namespace strobe {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenPolls = std::chrono::microseconds(20);
constexpr auto kBetweenLooks = std::chrono::milliseconds(2);
// Longer than the allocator waits for a lock of its own, which no thread holds for long.
constexpr auto kLongWait = std::chrono::milliseconds(10);
constexpr auto kLongestStop = std::chrono::seconds(20);  // it has only to be given a processor
constexpr auto kShortestRun = std::chrono::microseconds(100);
constexpr int kLongestRun = 16;                               // of the shortest
constexpr auto kLongestCall = std::chrono::milliseconds(15);  // the next look may find the thread in it again
constexpr int kLooksBeforeReturn = 2;
constexpr std::size_t kStackWords = 512;
constexpr std::size_t kBreakpoints = 4, kControl = 7;  // debug registers
constexpr long kEnabled = 0xff;                        // in that of control
constexpr std::uint64_t kSwitches = 2;                 // into one wait, and into the stop that ends it
constexpr int kEventStop = 128;                        // PTRACE_EVENT_STOP
constexpr int kMostPending = 8;
constexpr std::array<unsigned char, 2> kSystemCall{0x0f, 0x05};
constexpr std::size_t kAccumulator = 3;  // words from rip back to rax in struct sigcontext

enum class Code : std::uint8_t { kOther, kAllocator, kLoader, kUnknown };
// kWaits: safe where the thread stays in it for long.
enum class Point : std::uint8_t { kSafe, kWaits, kUnsafe };

Point point_of_call(std::uint64_t number) {
    switch (number) {
        // what the allocator, fork and pthread_create do
        case SYS_brk:
        case SYS_mmap:
        case SYS_munmap:
        case SYS_mremap:
        case SYS_mprotect:
        case SYS_madvise:
        case SYS_clone:
        case SYS_clone3:
        case SYS_fork:
        case SYS_vfork:
        case SYS_execve:
        case SYS_execveat:
            return Point::kUnsafe;
        case SYS_read:
        case SYS_write:
        case SYS_readv:
        case SYS_writev:
        case SYS_pread64:
        case SYS_pwrite64:
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
        case SYS_sendto:
        case SYS_sendmsg:
        case SYS_nanosleep:
        case SYS_clock_nanosleep:
        case SYS_wait4:
        case SYS_waitid:
        case SYS_pause:
        case SYS_rt_sigsuspend:
        case SYS_rt_sigtimedwait:
            return Point::kSafe;
        default:  // futex and sched_yield among them, which the allocator makes for a moment
            return Point::kWaits;
    }
}

Code code_of(const ProcessMemory& memory, std::uint64_t base) {
    const Exports exports(memory, base);
    if (!exports.are_readable()) return Code::kAllocator;
    if (exports.has("_r_debug")) return Code::kLoader;
    // What allocates; the C library, which does and has locks besides; what walks the loader's list of libraries.
    const bool is_involved = exports.has("malloc") || exports.has("calloc") || exports.has("pthread_create") ||
                             exports.has("_Unwind_RaiseException");
    return is_involved ? Code::kAllocator : Code::kOther;
}

constexpr std::size_t debug_register(std::size_t number) {
    return offsetof(user, u_debugreg) + number * sizeof(user::u_debugreg[0]);
}

bool set_debug_register(pid_t thread, std::size_t number, std::uint64_t value) {
    return ptrace(PTRACE_POKEUSER, thread, debug_register(number), value) == 0;
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
            if (point == Point::kUnsafe && looks >= kLooksBeforeReturn && error_ == 0) point = run_to_return();
            if (error_ != 0) return error_;
            if (point == Point::kSafe && !holds_loader_lock(thread_, memory_) && is_outside_handlers()) return settle();
            if (is_past()) return ETIMEDOUT;
            run_ = run_ < kLongestRun ? run_ * 2 : 1;
            go_on(kShortestRun * run_);
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
        if (mapping->path.empty() || mapping->path.starts_with("[anon")) return Code::kOther;  // made at run time
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
        const Code code = code_at(registers.rip);
        if (code == Code::kLoader || code == Code::kUnknown) return Point::kUnsafe;
        if (static_cast<std::int64_t>(registers.orig_rax) >= 0) return point_of_call(registers.orig_rax);
        return code == Code::kOther ? Point::kSafe : Point::kUnsafe;
    }

    // To the code that has called what the thread is in: hardware breakpoints stand at the first return addresses on
    // its stack that lie outside. Some of these may be of calls that are over.
    Point run_to_return() {
        const std::vector<std::uint64_t> places = return_addresses();
        if (places.empty() || !takes_traps()) return Point::kUnsafe;
        has_breakpoints_ = set_breakpoints(places);
        if (has_breakpoints_) go_on(kLongestCall);
        clear_breakpoints(thread_);
        has_breakpoints_ = false;
        return error_ == 0 ? judge() : Point::kUnsafe;
    }

    // Where the program blocks or ignores SIGTRAP the kernel would change that at a breakpoint; and it may have its
    // own.
    bool takes_traps() const {
        const std::uint64_t trap = std::uint64_t{1} << (SIGTRAP - 1);
        errno = 0;
        const long control = ptrace(PTRACE_PEEKUSER, thread_, debug_register(kControl), nullptr);
        const TaskStatus status(thread_);
        return errno == 0 && (control & kEnabled) == 0 &&
               ((status.number("SigBlk:", 16) | status.number("SigIgn:", 16)) & trap) == 0;
    }

    std::vector<std::uint64_t> return_addresses() {
        std::array<std::uint64_t, kStackWords> words{};
        const std::size_t count = memory_.read(stack_pointer_, words.data(), sizeof words) / sizeof words[0];
        std::vector<std::uint64_t> found;
        for (std::size_t i = 0; i < count && found.size() < kBreakpoints; i++) {
            if (mapping_of(words[i]) == nullptr || code_at(words[i]) != Code::kOther || !follows_call(words[i]))
                continue;
            if (std::ranges::find(found, words[i]) == found.end()) found.push_back(words[i]);
        }
        return found;
    }

    // call rel32, or by a register or from memory, of 2 to 7 bytes
    bool follows_call(std::uint64_t address) const {
        std::array<unsigned char, 7> before{};
        if (memory_.read(address - before.size(), before.data(), before.size()) != before.size()) return false;
        if (before[2] == 0xe8) return true;
        for (std::size_t at = 0; at + 1 < before.size(); at++) {
            if (before[at] == 0xff && (before[at + 1] >> 3 & 7) == 2) return true;
        }
        return false;
    }

    // In the registers of this thread alone. False where the system has none to give.
    bool set_breakpoints(const std::vector<std::uint64_t>& places) const {
        std::uint64_t control = 0;
        for (std::size_t i = 0; i < places.size(); i++) {
            if (!set_debug_register(thread_, i, places[i])) return false;
            control |= 1ULL << (2 * i);  // when it is to be executed, in this task
        }
        return set_debug_register(thread_, kControl, control);
    }

    // Into a stop that is no signal's: it would be delivered if this process ended now. Nothing of the program runs.
    int settle() { return stand_still(thread_) ? 0 : ESRCH; }

    std::uint64_t waits() const { return TaskStatus(thread_).number("voluntary_ctxt_switches:"); }

    // A call that was interrupted and waits on has another number.
    Point judge_waiting() {
        const std::uint64_t stack_pointer = stack_pointer_;
        const std::uint64_t switches = waits();
        go_on(kLongWait);
        if (error_ != 0) return Point::kUnsafe;
        const Point point = judge();
        if (point != Point::kWaits) return point;
        const bool is_same = stack_pointer == stack_pointer_ && waits() - switches <= kSwitches;
        return is_same ? Point::kSafe : Point::kUnsafe;
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
        if (is_before) return point_of_call(static_cast<std::uint64_t>(result)) == Point::kSafe;
        return result == -EINTR && std::equal(kSystemCall.begin(), kSystemCall.end(), around.begin());
    }

    // Lets it run for `time`, or to a breakpoint, and stops it. Signals on their way to the program are delivered.
    void go_on(Clock::duration time) {
        const auto until = Clock::now() + time;
        auto next_look = until + kBetweenLooks;
        bool is_interrupted = false;
        resume(0);
        while (error_ == 0) {
            siginfo_t stop{};
            // without WEXITED: its parent is to learn how it ended
            if (waitid(P_PID, static_cast<id_t>(thread_), &stop, WSTOPPED | WNOHANG | __WALL) != 0) {
                error_ = ESRCH;
            } else if (stop.si_pid != 0) {
                avoid_restart_syscall(thread_);
                if (is_settled(stop.si_status)) return;
            } else {
                if (!is_interrupted && Clock::now() >= until) {
                    is_interrupted = true;
                    ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr);
                }
                if (Clock::now() > next_look && look(next_look)) return;
                std::this_thread::sleep_for(kBetweenPolls);
            }
        }
    }

    void resume(int signal) {
        if (ptrace(PTRACE_CONT, thread_, nullptr, signal) != 0) error_ = ESRCH;
    }

    // It does not stop though it was asked to. Whether it does stand still: somebody else here has waited for that.
    bool look(Clock::time_point& next_look) {
        next_look = Clock::now() + kBetweenLooks;
        const char state = task_state(thread_, thread_);
        if (state == 'Z' || state == 'X') error_ = ESRCH;
        if (Clock::now() > deadline_ + kLongWait && state == 'D') error_ = ETIMEDOUT;
        siginfo_t stop{};
        if (state != 't' || ptrace(PTRACE_GETSIGINFO, thread_, nullptr, &stop) != 0) return false;
        avoid_restart_syscall(thread_);
        const int event = stop.si_code >> 8;
        return is_settled(event > 0 ? event << 8 | (stop.si_code & 0xff) : stop.si_signo);
    }

    // Whether the thread stands still with no signal to be delivered.
    bool is_settled(int status) {
        const int signal = status & 0xff;
        const int event = status >> 8;
        if (event == kEventStop && signal == SIGTRAP) {
            if (!has_breakpoints_ || !has_trap_pending()) return true;
            resume(0);  // a breakpoint was hit, too, which is reported next
            return false;
        }
        if (event != 0) {
            error_ = EBUSY;
            return true;
        }
        siginfo_t info{};
        const bool is_known = ptrace(PTRACE_GETSIGINFO, thread_, nullptr, &info) == 0;
        if (has_breakpoints_ && is_known && is_breakpoint(info)) return true;
        ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr);  // any stop answers the one before
        resume(signal);
        return false;
    }

    // A breakpoint is reported by a signal.
    bool has_trap_pending() const {
        std::array<siginfo_t, kMostPending> pending{};
        __ptrace_peeksiginfo_args wanted{0, 0, kMostPending};
        const long count = ptrace(PTRACE_PEEKSIGINFO, thread_, &wanted, pending.data());
        return std::any_of(pending.begin(), pending.begin() + std::max(count, 0L), is_breakpoint);
    }

    static bool is_breakpoint(const siginfo_t& signal) {
        return signal.si_signo == SIGTRAP && signal.si_code == TRAP_HWBKPT;
    }

    pid_t thread_;
    ProcessMemory memory_;
    Clock::time_point deadline_;
    std::vector<Mapping> mappings_;          // of code, by address
    std::map<std::uint64_t, Code> modules_;  // what has been looked up, by base
    std::uint64_t stack_pointer_ = 0;
    int run_ = 1;
    int error_ = 0;
    bool has_breakpoints_ = false;
};

}  // namespace

int reach_safe_point(pid_t thread, std::chrono::milliseconds limit) { return Walk(thread, limit).reach(); }

void clear_breakpoints(pid_t thread) { set_debug_register(thread, kControl, 0); }

bool stand_still(pid_t thread, int signal) {
    ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    if (ptrace(PTRACE_CONT, thread, nullptr, signal) != 0) return false;
    const auto deadline = Clock::now() + kLongestStop;
    auto next_look = Clock::now() + kBetweenLooks;
    while (Clock::now() < deadline) {
        siginfo_t stop{};
        if (waitid(P_PID, static_cast<id_t>(thread), &stop, WSTOPPED | WNOHANG | __WALL) != 0) return false;
        if (stop.si_pid != 0) return stop.si_status >> 8 == kEventStop;
        if (Clock::now() > next_look) {
            next_look = Clock::now() + kBetweenLooks;
            const char state = task_state(thread, thread);
            if (state == 'Z' || state == 'X') return false;
            if (state == 't') {  // by now, or somebody else here has waited for that
                waitid(P_PID, static_cast<id_t>(thread), &stop, WSTOPPED | WNOHANG | __WALL);
                return status_of_stop(thread) >> 16 == kEventStop;
            }
        }
        std::this_thread::sleep_for(kBetweenPolls);  // the thread may be waiting for this processor
    }
    return false;
}

}  // namespace strobe

#else

namespace strobe {

int reach_safe_point(pid_t, std::chrono::milliseconds) { return 0; }

void clear_breakpoints(pid_t) {}

bool stand_still(pid_t, int) { return true; }

}  // namespace strobe

#endif
