#include "patch/threads/held_threads.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "patch/target/loader_locks.h"
#include "patch/target/process_memory.h"
#include "patch/target/task_state.h"
#include "patch/target/tracer.h"
#include "patch/threads/forked_children.h"

namespace strobe {

namespace {

using Clock = std::chrono::steady_clock;

// A thread in such a wait, as vfork's parent is, stops only when that is over; the others need not wait for it.
constexpr auto kUninterruptible = std::chrono::milliseconds(20);
constexpr auto kBetweenLooks = std::chrono::milliseconds(2);
// What the others wait for may be held by one of these threads, so they run now and then, longer each time.
constexpr auto kHeldFirst = std::chrono::milliseconds(300);
constexpr auto kHeldAgain = std::chrono::milliseconds(100);
constexpr auto kFirstRun = std::chrono::milliseconds(2);
constexpr auto kLongestRun = std::chrono::milliseconds(128);  // whoever lets go of them waits for its end
constexpr auto kForkRuns = std::chrono::microseconds(200);
// What others are about to do takes a lock of the dynamic loader: a thread that has it runs until it has not.
constexpr auto kLoads = std::chrono::milliseconds(250);
constexpr auto kOutOfLoader = std::chrono::milliseconds(150);  // for one that the others stand still for meanwhile
constexpr auto kLoaderRuns = std::chrono::microseconds(100);
constexpr auto kLongestLoaderRun = std::chrono::microseconds(2000);
constexpr auto kBetweenHeldLooks = std::chrono::milliseconds(5);
constexpr auto kBetweenEvents = std::chrono::microseconds(500);  // that threads which run stand at

enum class Stop : std::uint8_t { kNone, kOurs, kProgramsOwn };

// In the middle of fork a thread holds the locks of malloc, for which those that run on would wait.
bool is_forking(pid_t thread) {
#ifdef __x86_64__
    user_regs_struct registers{};
    return ptrace(PTRACE_GETREGS, thread, nullptr, &registers) == 0 &&
           (registers.orig_rax == SYS_clone || registers.orig_rax == SYS_fork || registers.orig_rax == SYS_vfork);
#else
    (void)thread;
    return false;
#endif
}

// By their numbers in DWARF; empty where the thread has ended.
std::vector<std::uint64_t> registers_of_stopped(pid_t thread) {
    user_regs_struct read{};
    iovec whole{&read, sizeof read};
    if (ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &whole) != 0) return {};
#ifdef __x86_64__
    return {read.rax, read.rdx, read.rcx, read.rbx, read.rsi, read.rdi, read.rbp, read.rsp,
            read.r8,  read.r9,  read.r10, read.r11, read.r12, read.r13, read.r14, read.r15};
#else
    std::vector<std::uint64_t> found(std::begin(read.regs), std::end(read.regs));
    found.push_back(read.sp);
    return found;
#endif
}

// One of the threads that the calling thread traces, which has come to a stop or has ended since they were waited for;
// 0 where none has.
pid_t any_changed() {
    siginfo_t found{};
    constexpr int kOptions = WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD;
    return waitid(P_ALL, 0, &found, kOptions) == 0 ? found.si_pid : 0;
}

// Threads that are traced by this one, and those that they make while they run.
class Stopping {
  public:
    Stopping(const std::vector<pid_t>& threads, Clock::time_point deadline) : deadline_(deadline) {
        if (threads.empty()) return;
        seized_.reserve(threads.size());
        held_.reserve(threads.size());
        stopped_.reserve(threads.size());
        for (std::size_t at = 0; at < threads.size() && !learn(threads[at]); at++) continue;
        for (const pid_t thread : threads) {
            constexpr int kOptions = PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD;
            if (ptrace(PTRACE_SEIZE, thread, nullptr, kOptions) == 0) seized_.push_back(thread);
        }
    }
    Stopping(const Stopping&) = delete;
    Stopping& operator=(const Stopping&) = delete;
    ~Stopping() {
        for (const pid_t thread : stopped_) let_go(thread);
        for (const pid_t thread : seized_) let_go(thread);  // those that could not be held
    }

    // Holds all, none of them with a lock of the dynamic loader, if such a moment comes before `until`.
    void hold_outside_loader(Clock::time_point until) {
        auto run = kLoaderRuns;
        bool is_first = true;
        for (hold(); holds_loader() && Clock::now() + run < until; run = std::min(2 * run, kLongestLoaderRun)) {
            if (std::exchange(is_first, false)) lead_out_of_loader();
            if (!holds_loader()) return;
            let_run(false);
            run_for(run);
            hold();
        }
    }

    // `is_end`: they are traced no more.
    void let_run(bool is_end) {
        for (const pid_t thread : held_) {
            if (is_end) {
                let_go(thread);
            } else {
                ptrace(PTRACE_CONT, thread, nullptr, nullptr);
            }
        }
        held_.clear();
    }

    // After let_run. What they stand at meanwhile, as a child that they have forked, is seen to.
    void run_for(std::chrono::microseconds time) {
        const auto until = Clock::now() + time;
        for (auto left = until - Clock::now(); left.count() > 0; left = until - Clock::now()) {
            std::this_thread::sleep_for(std::min<Clock::duration>(left, kBetweenEvents));
            look_after(false);
        }
    }

    std::map<pid_t, std::vector<std::uint64_t>> registers() const {
        std::map<pid_t, std::vector<std::uint64_t>> found;
        for (const pid_t thread : held_) found.emplace(thread, registers_of_stopped(thread));
        return found;
    }

    // While they are held: what comes to a stop only now, or is killed.
    void look() { look_after(true); }

  private:
    // What is to be known of the program. False where the thread ends, or its memory may not be read.
    bool learn(pid_t thread) {
        try {
            memory_.emplace(thread);
        } catch (const std::system_error&) {
            return false;
        }
        loader_.emplace(thread, *memory_);
        children_.learn(thread, *memory_);
        const char state = task_state(thread, thread);
        return state != 'Z' && state != 'X';
    }

    void hold() {
        for (const pid_t thread : seized_) ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
        for (std::size_t at = 0; at < seized_.size(); at++) {  // one that is made meanwhile comes to them
            const Stop stop = hold_one(seized_[at]);
            if (stop == Stop::kOurs) held_.push_back(seized_[at]);
            if (stop != Stop::kProgramsOwn) continue;
            stopped_.push_back(seized_[at]);
            seized_[at] = 0;
        }
        std::erase(seized_, 0);
        children_.let_go();
    }

    // `are_held`: one that comes to a stop of ours stays there.
    void look_after(bool are_held) {
        const pid_t changed = any_changed();
        if (changed == 0) return;
        const bool is_thread = std::ranges::find(seized_, changed) != seized_.end();
        for (std::size_t at = 0; at < seized_.size(); at++) look_after(at, are_held);
        std::erase(seized_, 0);
        // A child whose maker was killed: none is on its way to say that it has made one. Or a thread that has become
        // the whole program, by exec, and has another number.
        if (!is_thread && held_.size() == seized_.size() && !has_ended(changed)) children_.add(changed);
        children_.let_go();
    }

    void look_after(std::size_t at, bool are_held) {
        int status = 0;
        const pid_t thread = seized_[at];
        if (wait_for_tracee(thread, &status, __WALL | WNOHANG) <= 0) return;
        const bool is_event_stop = WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP;
        if (is_event_stop && WSTOPSIG(status) == SIGTRAP && are_held) {
            held_.push_back(thread);
        } else if (WIFSTOPPED(status) && (!is_event_stop || WSTOPSIG(status) == SIGTRAP)) {
            if (are_held) ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
            go_on(thread, status);
        } else {
            if (is_event_stop) stopped_.push_back(thread);
            std::erase(held_, thread);
            seized_[at] = 0;
        }
    }

    // From a stop that is not one of the whole program. A signal on its way to it is delivered: it would be lost if
    // this process were killed while it kept the signal.
    void go_on(pid_t thread, int status) {
        const int event = status >> 16;
        if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_CLONE) note_made(thread);
        ptrace(PTRACE_CONT, thread, nullptr, signal_of_stop(status));
    }

    // A thread, or a child.
    void note_made(pid_t maker) {
        unsigned long made = 0;
        if (ptrace(PTRACE_GETEVENTMSG, maker, nullptr, &made) != 0) return;
        const auto number = static_cast<pid_t>(made);
        if (TaskStatus(number).number("Tgid:") == TaskStatus(maker).number("Tgid:")) {
            seized_.push_back(number);
        } else {
            children_.restore(maker, number);
        }
    }

    // kNone where it does not stop in time, or has ended: what is seized then is let go of by the end of this thread.
    Stop wait_stopped(pid_t thread) {
        const auto patience = Clock::now() + kUninterruptible;
        auto next_look = Clock::now() + kBetweenLooks;
        int status = 0;
        while (Clock::now() < deadline_) {
            const pid_t found = wait_for_tracee(thread, &status, __WALL | WNOHANG);
            if (found < 0) return Stop::kNone;
            if (found == 0) {
                if (Clock::now() > next_look) {
                    next_look = Clock::now() + kBetweenLooks;
                    const char state = task_state(thread, thread);
                    if (Clock::now() > patience && state == 'D') return Stop::kNone;
                    if (state == 't') status = status_of_stop(thread);
                }
                if (status == 0) {
                    std::this_thread::sleep_for(std::chrono::microseconds(20));
                    continue;
                }
            }
            if (!WIFSTOPPED(status)) return Stop::kNone;
            if (status >> 16 == PTRACE_EVENT_STOP)
                return WSTOPSIG(status) == SIGTRAP ? Stop::kOurs : Stop::kProgramsOwn;
            ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);  // any stop answers the one before
            go_on(thread, status);
            status = 0;
        }
        return Stop::kNone;
    }

    // As wait_stopped; not in the middle of fork, where that can be helped.
    Stop hold_one(pid_t thread) {
        Stop stop = wait_stopped(thread);
        while (stop == Stop::kOurs && is_forking(thread) && Clock::now() + kForkRuns < deadline_) {
            ptrace(PTRACE_CONT, thread, nullptr, nullptr);
            std::this_thread::sleep_for(kForkRuns);
            ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
            stop = wait_stopped(thread);
        }
        return stop;
    }

    bool holds_loader() const {
        return std::ranges::any_of(held_, [this](pid_t thread) { return holds_loader(thread); });
    }

    bool holds_loader(pid_t thread) const {
        if (!loader_) return false;
        const std::vector<pid_t> owners = loader_->owners();
        return !owners.empty() && std::ranges::find(owners, own_number(thread)) != owners.end();
    }

    // Those that hold one of its locks run, one after the other, to where they have given it back. At moments by chance
    // a thread that loads libraries all the time nearly always has it.
    void lead_out_of_loader() {
        for (std::size_t at = held_.size(); at-- > 0;) {
            const pid_t thread = held_[at];
            if (!holds_loader(thread)) continue;
            held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
            const Stop stop = run_out_of_loader(thread, std::min(deadline_, Clock::now() + kOutOfLoader));
            if (stop == Stop::kOurs) held_.push_back(thread);
            if (stop != Stop::kProgramsOwn) continue;
            stopped_.push_back(thread);
            std::erase(seized_, thread);
        }
    }

    // It stands behind the system call by which it wakes who waits for the lock, or where it is at `until`, or where it
    // waits itself.
    Stop run_out_of_loader(pid_t thread, Clock::time_point until) {
        bool is_in_call = false;
        int signal = 0;
        loader_->mark_waited_for(own_number(thread));
        while (Clock::now() < until) {
            if (ptrace(PTRACE_SYSCALL, thread, nullptr, signal) != 0) break;
            int status = 0;
            const pid_t found = wait_while_it_runs(thread, &status, until);
            if (found == 0) {
                ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
                return wait_stopped(thread);  // which gives it what signal it may have come to a stop for just now
            }
            if (found < 0 || !WIFSTOPPED(status)) return Stop::kNone;
            const int event = status >> 16;
            if (event == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP) return Stop::kProgramsOwn;
            if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_CLONE) note_made(thread);
            signal = signal_of_stop(status);
            if (!is_call_stop(status)) continue;
            is_in_call = !is_in_call;
            if (is_in_call) continue;
            if (!holds_loader(thread)) break;
            loader_->mark_waited_for(own_number(thread));  // it may have taken another one
        }
        ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
        ptrace(PTRACE_CONT, thread, nullptr, signal);  // to the stop of that, if it stands
        return wait_stopped(thread);
    }

    // 0 where it has not come to a stop until then, or waits for something.
    static pid_t wait_while_it_runs(pid_t thread, int* status, Clock::time_point until) {
        auto next_look = Clock::now() + kBetweenLooks;
        while (Clock::now() < until) {
            const pid_t found = wait_for_tracee(thread, status, __WALL | WNOHANG);
            if (found != 0) return found;
            if (Clock::now() > next_look) {
                if (task_state(thread, thread) == 'S') return 0;
                next_look = Clock::now() + kBetweenLooks;
            }
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
        return 0;
    }

    Clock::time_point deadline_;
    std::optional<ProcessMemory> memory_;
    std::optional<LoaderLocks> loader_;
    ForkedChildren children_;
    std::vector<pid_t> seized_, held_;
    std::vector<pid_t> stopped_;  // with the whole program, by a signal: they run again when that does
};

}  // namespace

HeldThreads::HeldThreads(std::vector<pid_t> threads, std::chrono::milliseconds limit)
    : tracer_([this, threads = std::move(threads), limit] { hold(threads, limit); }) {
    std::unique_lock<std::mutex> own(lock_);
    changed_.wait(own, [this] { return are_held_; });
}

HeldThreads::~HeldThreads() { release(); }

std::vector<std::uint64_t> HeldThreads::registers(pid_t thread) {
    const std::lock_guard<std::mutex> own(lock_);
    const auto found = registers_.find(thread);
    return found == registers_.end() ? std::vector<std::uint64_t>{} : found->second;
}

bool HeldThreads::release() {
    {
        const std::lock_guard<std::mutex> own(lock_);
        is_released_ = true;
    }
    changed_.notify_all();
    if (tracer_.joinable()) tracer_.join();
    return was_in_time_;
}

void HeldThreads::hold(const std::vector<pid_t>& threads, std::chrono::milliseconds limit) {
    const auto deadline = Clock::now() + limit;
    Stopping stopping(threads, deadline);
    bool is_over = false;
    auto at_once = kHeldFirst;
    for (auto run = kFirstRun; !is_over; run = std::min(2 * run, kLongestRun)) {
        stopping.hold_outside_loader(std::min(deadline, Clock::now() + kLoads));
        if (run == kFirstRun) {
            const std::lock_guard<std::mutex> own(lock_);
            registers_ = stopping.registers();
        }
        const auto until = std::min(deadline, Clock::now() + at_once);
        do {
            is_over = wait_released(std::min(until, Clock::now() + kBetweenHeldLooks));
            stopping.look();
        } while (!is_over && Clock::now() < until);
        is_over = is_over || Clock::now() >= deadline;
        stopping.let_run(is_over);
        if (!is_over) stopping.run_for(run);
        at_once = kHeldAgain;
    }
}

bool HeldThreads::wait_released(std::chrono::steady_clock::time_point until) {
    std::unique_lock<std::mutex> own(lock_);
    are_held_ = true;
    changed_.notify_all();
    was_in_time_ = changed_.wait_until(own, until, [this] { return is_released_; });
    return was_in_time_;
}

}  // namespace strobe
