#include "patch/injection/left_stops.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>

#include "patch/injection/safe_point.h"
#include "patch/target/tracer.h"

namespace strobe {

namespace {

constexpr auto kAnswerTimeout = std::chrono::seconds(1);
constexpr int kEventStop = 128;  // PTRACE_EVENT_STOP
constexpr int kNoAnswer = -1;

std::mutex asking;
std::atomic<int> answer;
std::atomic<int> asked;

// Faults happen once more if they were the program's own; the tracer's calls in it end in one.
bool comes_again(int signal) {
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE || signal == SIGTRAP ||
           signal == SIGSTOP;
}

// Async-signal-safe: this runs in the middle of whatever the tracing thread does.
void detach_here(int, siginfo_t* signal, void*) {
    const int saved = errno;
    const int number = signal->si_value.sival_int;
    const pid_t thread = asked.load();
    siginfo_t pending{};
    long to_deliver = 0;
    if (number == thread && ptrace(PTRACE_GETSIGINFO, thread, nullptr, &pending) == 0 &&
        pending.si_code >> 8 != kEventStop && !comes_again(pending.si_signo)) {
        to_deliver = pending.si_signo;
    }
    if (number == thread) clear_breakpoints(thread);
    if (number == thread) answer = ptrace(PTRACE_DETACH, thread, nullptr, to_deliver) == 0 ? 1 : 0;
    errno = saved;
}

int request_signal() {
    static const int number = [] {
        struct sigaction action{};
        action.sa_sigaction = detach_here;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        sigaction(SIGRTMAX - 2, &action, nullptr);
        return SIGRTMAX - 2;
    }();
    return number;
}

}  // namespace

bool detach_by(pid_t tracer, pid_t thread) {
    const std::lock_guard<std::mutex> one_at_a_time(asking);
    if (has_ended(thread)) {  // its parent learns of the end once this process has waited for it
        return wait_for_tracee(thread, nullptr, __WALL | WNOHANG) == thread;
    }
    siginfo_t request{};
    request.si_code = SI_QUEUE;
    request.si_value.sival_int = thread;
    answer = kNoAnswer;
    asked = thread;
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), tracer, request_signal(), &request) != 0) return false;
    const auto deadline = std::chrono::steady_clock::now() + kAnswerTimeout;
    while (answer.load() == kNoAnswer && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    asked = 0;
    return answer.load() == 1;
}

}  // namespace strobe
