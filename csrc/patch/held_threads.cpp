#include "patch/held_threads.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <utility>

namespace strobe {

namespace {

struct Held {
    pid_t thread;
    long signal;  // that it was about to be given; 0 for none
};

// Into `held` where it stops in time. One that does not is let go of by the end of the tracing thread.
void wait_stopped(pid_t thread, std::chrono::steady_clock::time_point deadline, std::vector<Held>& held) {
    while (std::chrono::steady_clock::now() < deadline) {
        int status = 0;
        const pid_t found = waitpid(thread, &status, __WALL | WNOHANG);
        if (found < 0) return;
        if (found == thread) {
            if (WIFSTOPPED(status)) held.push_back({thread, status >> 16 == 0 ? WSTOPSIG(status) : 0});
            return;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
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

void let_fork_end(Held& one, std::chrono::steady_clock::time_point deadline, std::vector<Held>& held) {
    std::vector<Held> again{one};
    while (!again.empty() && is_forking(again[0].thread) && std::chrono::steady_clock::now() < deadline) {
        const Held now = again[0];
        again.clear();
        ptrace(PTRACE_CONT, now.thread, nullptr, now.signal);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        ptrace(PTRACE_INTERRUPT, now.thread, nullptr, nullptr);
        wait_stopped(now.thread, deadline, again);
    }
    held.insert(held.end(), again.begin(), again.end());
}

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
    const auto deadline = std::chrono::steady_clock::now() + limit;
    std::vector<pid_t> seized;
    std::vector<Held> stopped;
    std::vector<Held> held;
    seized.reserve(threads.size());
    held.reserve(threads.size());
    for (const pid_t thread : threads) {
        if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) continue;
        ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
        seized.push_back(thread);
    }
    for (const pid_t thread : seized) wait_stopped(thread, deadline, stopped);
    for (Held& one : stopped) let_fork_end(one, deadline, held);
    {
        std::unique_lock<std::mutex> own(lock_);
        are_held_ = true;
        changed_.notify_all();
        was_in_time_ = changed_.wait_until(own, deadline, [this] { return is_released_; });
    }
    for (const auto& [thread, signal] : held) ptrace(PTRACE_DETACH, thread, nullptr, signal);
}

}  // namespace strobe
