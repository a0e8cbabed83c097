#include "patch/signal_mask.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <initializer_list>
#include <system_error>
#include <thread>

namespace strobe {

namespace {

constexpr auto kStopTimeout = std::chrono::seconds(2);

// As the kernel has it: signal n is bit n - 1.
std::uint64_t mask_of_others(std::initializer_list<int> allowed) {
    std::uint64_t mask = ~std::uint64_t{0};
    for (const int signal : allowed) mask &= ~(std::uint64_t{1} << (signal - 1));
    return mask;
}

// False when the thread has ended.
bool wait_stopped(pid_t thread) {
    const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
    int status = 0;
    while (true) {
        const pid_t found = waitpid(thread, &status, __WALL | WNOHANG);
        if (found < 0) return false;
        if (found == thread) return WIFSTOPPED(status);
        if (std::chrono::steady_clock::now() > deadline) {
            throw std::system_error(ETIMEDOUT, std::generic_category(), "a thread does not stop");
        }
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
}

}  // namespace

std::uint64_t mask_without_faults() {
    return mask_of_others({SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT});
}

void block_signals(const std::vector<pid_t>& threads) {
    std::uint64_t mask = mask_without_faults();
    for (const pid_t thread : threads) {
        if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
            if (errno == ESRCH) continue;
            throw std::system_error(errno, std::generic_category(), "a thread cannot be stopped");
        }
        ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
        if (wait_stopped(thread)) ptrace(PTRACE_SETSIGMASK, thread, sizeof mask, &mask);
        ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
    }
}

}  // namespace strobe
