#include "patch/injection/clock.h"

#ifdef __x86_64__

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "patch/injection/safe_point.h"
#include "patch/target/process_memory.h"
#include "patch/target/task_state.h"

namespace strobe {

namespace {

constexpr auto kLongestStep = std::chrono::seconds(20);  // it has only to be given a processor
constexpr auto kBetweenPolls = std::chrono::microseconds(20);
constexpr std::uint64_t kAnswers =
    std::uint64_t{1} << (SIGTRAP - 1) | std::uint64_t{1} << (SIGSEGV - 1);  // that it may, and may not
constexpr std::uint64_t kNoCall = ~std::uint64_t{0};                        // orig_rax outside of system calls
constexpr std::array<unsigned char, 2> kRdtsc{0x0f, 0x31};
constexpr std::array<unsigned char, 3> kRdtscp{0x0f, 0x01, 0xf9};
constexpr int kEventStop = 128;  // PTRACE_EVENT_STOP
constexpr std::size_t kMostVdso = std::size_t{1} << 16;

// 0 where there is none.
std::uint64_t place_of_rdtsc(pid_t process, const ProcessMemory& memory) {
    std::ifstream file("/proc/" + std::to_string(process) + "/maps");
    for (std::string line; std::getline(file, line);) {
        std::uint64_t start = 0;
        std::uint64_t end = 0;
        if (!line.ends_with("[vdso]") || std::sscanf(line.c_str(), "%lx-%lx", &start, &end) != 2) continue;
        std::vector<unsigned char> code(std::min<std::size_t>(end - start, kMostVdso));
        code.resize(memory.read(start, code.data(), code.size()));
        for (const auto& found : {std::ranges::search(code, kRdtsc), std::ranges::search(code, kRdtscp)}) {
            if (!found.empty()) return start + static_cast<std::uint64_t>(found.begin() - code.begin());
        }
    }
    return 0;
}

// A signal that the thread itself raises while it blocks or ignores it gets its default action from the kernel.
bool takes_answers(pid_t thread) {
    const TaskStatus status(thread);
    return status.has("SigBlk:") && status.has("SigIgn:") &&
           ((status.number("SigBlk:", 16) | status.number("SigIgn:", 16)) & kAnswers) == 0;
}

// Its next stop: as waitid has it; 0 where it ends.
int next_stop(pid_t thread) {
    const auto deadline = std::chrono::steady_clock::now() + kLongestStep;
    while (std::chrono::steady_clock::now() < deadline) {
        siginfo_t stop{};
        if (waitid(P_PID, static_cast<id_t>(thread), &stop, WSTOPPED | WNOHANG | __WALL) != 0) return 0;
        if (stop.si_pid != 0) return stop.si_status;
        std::this_thread::sleep_for(kBetweenPolls);
    }
    return 0;
}

int set_mask(pid_t thread, std::uint64_t mask) {
    return static_cast<int>(ptrace(PTRACE_SETSIGMASK, thread, sizeof mask, &mask));
}

int step(pid_t thread, std::uint64_t place) {
    user_regs_struct own{};
    std::uint64_t mask = 0;
    if (ptrace(PTRACE_GETREGS, thread, nullptr, &own) != 0 ||
        ptrace(PTRACE_GETSIGMASK, thread, sizeof mask, &mask) != 0) {
        return ESRCH;
    }
    user_regs_struct there = own;
    there.rip = place;
    there.orig_rax = kNoCall;  // a system call that was interrupted is not begun anew, but when it goes on
    if (set_mask(thread, ~kAnswers) != 0) return ESRCH;
    int status = 0;
    if (ptrace(PTRACE_SETREGS, thread, nullptr, &there) == 0 &&
        ptrace(PTRACE_SINGLESTEP, thread, nullptr, nullptr) == 0) {
        status = next_stop(thread);
    }
    siginfo_t signal{};
    if (status == 0 || ptrace(PTRACE_SETREGS, thread, nullptr, &own) != 0 || set_mask(thread, mask) != 0) return ESRCH;
    const int code = status == SIGTRAP ? int{TRAP_TRACE} : int{SI_KERNEL};
    const bool is_answer = (status == SIGTRAP || status == SIGSEGV) &&
                           ptrace(PTRACE_GETSIGINFO, thread, nullptr, &signal) == 0 && signal.si_code == code;
    if (is_answer) return !stand_still(thread) ? ESRCH : status == SIGSEGV ? ENOTSUP : 0;
    if (status >= NSIG) return EBUSY;
    // SIGSTOP, which no mask keeps away, or one of the two that somebody has sent
    ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    if (ptrace(PTRACE_CONT, thread, nullptr, status) != 0) return ESRCH;
    const int after = next_stop(thread);
    return after == 0 ? ESRCH : after == (kEventStop << 8 | SIGTRAP) ? ETIMEDOUT : EBUSY;
}

}  // namespace

int asks_for_clock(pid_t thread) {
    const ProcessMemory memory(thread);
    const std::uint64_t place = place_of_rdtsc(thread, memory);
    return place == 0 || !takes_answers(thread) ? 0 : step(thread, place);
}

}  // namespace strobe

#else

namespace strobe {

int asks_for_clock(pid_t) { return 0; }

}  // namespace strobe

#endif
