#include "patch/threads/held_threads.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <system_error>
#include <utility>

#include "patch/target/loader_locks.h"
#include "patch/target/process_memory.h"
#include "patch/target/task_state.h"
#include "patch/target/tracer.h"

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
constexpr auto kForkRuns = std::chrono::microseconds(200);
// What others are about to do takes a lock of the dynamic loader: a thread that has it runs until it has not.
constexpr auto kLoads = std::chrono::milliseconds(100);
constexpr auto kLoaderRuns = std::chrono::microseconds(100);
constexpr auto kLongestLoaderRun = std::chrono::microseconds(2000);

enum class Stop : std::uint8_t { kNone, kOurs, kProgramsOwn };

// kNone where it does not stop in time, or has ended: what is seized then is let go of by the end of this thread.
Stop wait_stopped(pid_t thread, Clock::time_point deadline) {
    const auto patience = Clock::now() + kUninterruptible;
    auto next_look = Clock::now() + kBetweenLooks;
    int status = 0;
    while (Clock::now() < deadline) {
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
        if (status >> 16 == PTRACE_EVENT_STOP) return WSTOPSIG(status) == SIGTRAP ? Stop::kOurs : Stop::kProgramsOwn;
        // A signal on its way to the program: its handler is begun, and held there. It would be lost if this process
        // were killed while it kept the signal.
        ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);  // any stop answers the one before
        ptrace(PTRACE_CONT, thread, nullptr, status >> 16 == 0 ? WSTOPSIG(status) : 0);
        status = 0;
    }
    return Stop::kNone;
}

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

// As wait_stopped; not in the middle of fork, where that can be helped.
Stop hold_one(pid_t thread, Clock::time_point deadline) {
    Stop stop = wait_stopped(thread, deadline);
    while (stop == Stop::kOurs && is_forking(thread) && Clock::now() + kForkRuns < deadline) {
        ptrace(PTRACE_CONT, thread, nullptr, nullptr);
        std::this_thread::sleep_for(kForkRuns);
        ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
        stop = wait_stopped(thread, deadline);
    }
    return stop;
}

// Threads that are traced by this one.
class Stopping {
  public:
    Stopping(const std::vector<pid_t>& threads, Clock::time_point deadline) : deadline_(deadline) {
        if (threads.empty()) return;
        seized_.reserve(threads.size());
        held_.reserve(threads.size());
        stopped_.reserve(threads.size());
        try {
            memory_.emplace(threads.front());
            loader_.emplace(threads.front(), *memory_);
        } catch (const std::system_error&) {  // it is ending, or its memory may not be read
        }
        for (const pid_t thread : threads) {
            if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) == 0) seized_.push_back(thread);
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
        for (hold(); holds_loader() && Clock::now() + run < until; run = std::min(2 * run, kLongestLoaderRun)) {
            let_run(false);
            std::this_thread::sleep_for(run);
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

  private:
    void hold() {
        for (const pid_t thread : seized_) ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
        for (pid_t& thread : seized_) {
            const Stop stop = hold_one(thread, deadline_);
            if (stop == Stop::kOurs) held_.push_back(thread);
            if (stop != Stop::kProgramsOwn) continue;
            stopped_.push_back(thread);
            thread = 0;
        }
        std::erase(seized_, 0);
    }

    bool holds_loader() const {
        if (!loader_) return false;
        const std::vector<pid_t> owners = loader_->owners();
        return !owners.empty() && std::ranges::any_of(held_, [&owners](pid_t thread) {
            return std::ranges::find(owners, own_number(thread)) != owners.end();
        });
    }

    Clock::time_point deadline_;
    std::optional<ProcessMemory> memory_;
    std::optional<LoaderLocks> loader_;
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
    for (auto run = kFirstRun; !is_over; run *= 2) {
        stopping.hold_outside_loader(std::min(deadline, Clock::now() + kLoads));
        is_over = wait_released(std::min(deadline, Clock::now() + at_once)) || Clock::now() >= deadline;
        stopping.let_run(is_over);
        if (!is_over) std::this_thread::sleep_for(run);
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
