#include "patch/thread_stop.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include "patch/signal_mask.h"

namespace strobe {

namespace {

constexpr auto kStopTimeout = std::chrono::seconds(10);
constexpr int kMaxSteps = 1000;

[[noreturn]] void fail(int error, const char* what) { throw std::system_error(error, std::generic_category(), what); }

std::vector<pid_t> task_ids(pid_t process) {
    std::vector<pid_t> ids;
    std::error_code error;
    const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(process) + "/task", error);
    if (error) fail(ESRCH, "the process is gone");
    for (const auto& entry : tasks) {
        const std::string name = entry.path().filename();
        pid_t id = 0;
        std::from_chars(name.data(), name.data() + name.size(), id);
        ids.push_back(id);
    }
    return ids;
}

// A thread that has ended but is still listed: the main thread of a process whose others go on, for one.
bool is_dead(pid_t process, pid_t id) {
    std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(id) + "/stat");
    std::string line;
    if (!std::getline(file, line)) return true;
    const auto name_end = line.rfind(')');
    if (name_end == std::string::npos || name_end + 2 >= line.size()) return true;
    return line[name_end + 2] == 'Z' || line[name_end + 2] == 'X';
}

std::uint64_t next_instruction(const user_regs_struct& registers) {
#ifdef __x86_64__
    return registers.rip;
#else
    return registers.pc;
#endif
}

bool is_at(pid_t thread, const std::function<bool(std::uint64_t)>& is_forbidden) {
    user_regs_struct registers{};
    iovec whole{&registers, sizeof registers};
    return ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &whole) == 0 && is_forbidden(next_instruction(registers));
}

}  // namespace

ThreadStop::ThreadStop(pid_t process) : process_(process) {
    try {
        // stopped threads create no others, so a round that finds none is the last
        while (seize_new()) {
        }
        if (threads_.empty()) fail(ESRCH, "the process is gone");
    } catch (...) {
        release();
        throw;
    }
}

ThreadStop::~ThreadStop() { release(); }

void ThreadStop::release() {
    for (const Thread& thread : threads_) ptrace(PTRACE_DETACH, thread.id, nullptr, nullptr);
    threads_.clear();
}

bool ThreadStop::seize_new() {
    std::vector<pid_t> fresh;
    for (const pid_t id : task_ids(process_)) {
        const bool known = std::ranges::any_of(threads_, [id](const Thread& thread) { return thread.id == id; });
        if (known || is_dead(process_, id)) continue;
        if (ptrace(PTRACE_SEIZE, id, nullptr, nullptr) != 0) {
            if (errno == ESRCH || is_dead(process_, id)) continue;
            fail(errno, "a thread cannot be stopped");
        }
        ptrace(PTRACE_INTERRUPT, id, nullptr, nullptr);
        threads_.push_back({id});
        fresh.push_back(id);
    }
    for (const pid_t id : fresh) {
        const auto thread = std::ranges::find(threads_, id, &Thread::id);
        if (thread != threads_.end()) wait_stopped(*thread);
    }
    std::erase_if(threads_, [](const Thread& thread) { return thread.id == 0; });
    return !fresh.empty();
}

// The status of waitpid; 0 when the thread has ended.
int ThreadStop::next_stop(Thread& thread) {
    const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
    int status = 0;
    while (true) {
        const pid_t found = waitpid(thread.id, &status, __WALL | WNOHANG);
        if (found < 0 || (found == thread.id && !WIFSTOPPED(status))) {
            thread.id = 0;
            return 0;
        }
        if (found == thread.id) return status;
        if (std::chrono::steady_clock::now() > deadline) fail(ETIMEDOUT, "a thread does not stop");
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
}

void ThreadStop::wait_stopped(Thread& thread) {
    while (true) {
        const int status = next_stop(thread);
        if (thread.id == 0 || status >> 16 == PTRACE_EVENT_STOP) return;
        // a signal on its way to the program: its handler is begun, and held at its first instruction
        ptrace(PTRACE_INTERRUPT, thread.id, nullptr, nullptr);  // any stop answers the one before
        ptrace(PTRACE_CONT, thread.id, nullptr, status >> 16 == 0 ? WSTOPSIG(status) : 0);
    }
}

// One instruction; the fault that it raises goes to the program.
void ThreadStop::step(Thread& thread) {
    for (int signal = 0; thread.id != 0;) {
        if (ptrace(PTRACE_SINGLESTEP, thread.id, nullptr, signal) != 0) {
            thread.id = 0;
            return;
        }
        const int status = next_stop(thread);
        if (thread.id == 0 || WSTOPSIG(status) == SIGTRAP) return;
        signal = WSTOPSIG(status);
    }
}

// Signals that come meanwhile wait: the kernel would take each from its queue to stop the thread for it.
void ThreadStop::step_out(Thread& thread, const std::function<bool(std::uint64_t)>& is_forbidden) {
    std::uint64_t own_mask = 0;
    std::uint64_t mask = mask_without_faults();
    if (ptrace(PTRACE_GETSIGMASK, thread.id, sizeof own_mask, &own_mask) != 0) return;
    ptrace(PTRACE_SETSIGMASK, thread.id, sizeof mask, &mask);
    for (int steps = 0; thread.id != 0 && is_at(thread.id, is_forbidden); steps++) {
        if (steps == kMaxSteps) {
            ptrace(PTRACE_SETSIGMASK, thread.id, sizeof own_mask, &own_mask);
            fail(ETIMEDOUT, "a thread does not leave code that is to be changed");
        }
        step(thread);
    }
    if (thread.id != 0) ptrace(PTRACE_SETSIGMASK, thread.id, sizeof own_mask, &own_mask);
}

void ThreadStop::leave(const std::function<bool(std::uint64_t)>& is_forbidden) {
    for (Thread& thread : threads_)
        if (is_at(thread.id, is_forbidden)) step_out(thread, is_forbidden);
    std::erase_if(threads_, [](const Thread& thread) { return thread.id == 0; });
}

}  // namespace strobe
