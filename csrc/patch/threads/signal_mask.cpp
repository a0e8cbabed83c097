#include "patch/threads/signal_mask.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <thread>

#include "patch/target/process_memory.h"
#include "patch/target/signal_frames.h"
#include "patch/target/tracer.h"
#include "patch/threads/thread_stop.h"

namespace strobe {

namespace {

constexpr auto kStopTimeout = std::chrono::seconds(10);
constexpr auto kHold = std::chrono::milliseconds(500);

// The C library's own, which it sends to every thread and waits for, for pthread_cancel and setuid.
constexpr int kCancel = 32;
constexpr int kSetId = 33;

// Signal n is bit n - 1. What is sent to the process is for the program's threads, be it SIGSEGV; a fault of the
// agent's own would end the process either way. But it may run into a breakpoint instruction of a probe, and under a
// filter that answers system calls by SIGSYS.
std::uint64_t agent_mask() {
    std::uint64_t mask = ~std::uint64_t{0};
    for (const int signal : {SIGTRAP, SIGSYS, kCancel, kSetId}) mask &= ~(std::uint64_t{1} << (signal - 1));
    return mask;
}

// The status of waitpid, 0 when the thread has ended.
int wait_stopped(pid_t thread) {
    const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
    int status = 0;
    while (true) {
        const pid_t found = wait_for_tracee(thread, &status, __WALL | WNOHANG);
        if (found < 0) return 0;
        if (found == thread) return WIFSTOPPED(status) ? status : 0;
        if (std::chrono::steady_clock::now() > deadline) {
            throw std::system_error(ETIMEDOUT, std::generic_category(), "a thread does not stop");
        }
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
}

// The kernel lets nobody send what says that it came from the kernel, or from kill.
void send_back(pid_t process, siginfo_t& signal) {
    if (signal.si_code >= 0 || syscall(SYS_rt_sigqueueinfo, process, signal.si_signo, &signal) != 0) {
        kill(process, signal.si_signo);
    }
}

void block(pid_t process, pid_t thread, std::uint64_t mask) {
    const int status = wait_stopped(thread);
    siginfo_t signal{};
    if (status == 0) return;
    const bool has_signal = status >> 16 == 0 && ptrace(PTRACE_GETSIGINFO, thread, nullptr, &signal) == 0;
    ptrace(PTRACE_SETSIGMASK, thread, sizeof mask, &mask);
    ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
    if (has_signal) send_back(process, signal);
}

}  // namespace

void block_signals(pid_t process, const std::vector<pid_t>& threads) {
    as_tracer([process, &threads] {
        for (const pid_t thread : threads) {
            if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
                if (errno == ESRCH) continue;
                throw std::system_error(errno, std::generic_category(), "a thread cannot be stopped");
            }
            ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
            block(process, thread, agent_mask());
        }
    });
}

std::uint64_t blocked_signals(pid_t process, const std::vector<pid_t>& agents) {
    std::uint64_t found = 0;
    as_tracer([process, &agents, &found] {
        const ProcessMemory memory(process);
        const ThreadStop held(process, kHold);
        SignalFrames frames(process, memory);
        for (const ThreadPlace& thread : held.places()) {
            if (std::ranges::find(agents, thread.thread) != agents.end()) continue;
            found |= ThreadStop::signal_mask(thread.thread);
            for (const SavedContext& saved : frames.above(thread.stack_pointer)) found |= saved.mask;
        }
    });
    return found;
}

}  // namespace strobe
