#include "patch/thread_stop.h"

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

namespace strobe {

namespace {

constexpr auto kStopTimeout = std::chrono::seconds(2);
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
    for (const Thread& thread : threads_) ptrace(PTRACE_DETACH, thread.id, nullptr, thread.signal);
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
        threads_.push_back({id, 0});
        fresh.push_back(id);
    }
    for (const pid_t id : fresh) {
        const auto thread = std::ranges::find(threads_, id, &Thread::id);
        if (thread != threads_.end()) wait_stopped(*thread);
    }
    std::erase_if(threads_, [](const Thread& thread) { return thread.id == 0; });
    return !fresh.empty();
}

void ThreadStop::wait_stopped(Thread& thread) {
    const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
    int status = 0;
    while (true) {
        const pid_t found = waitpid(thread.id, &status, __WALL | WNOHANG);
        if (found < 0 || (found == thread.id && !WIFSTOPPED(status))) {
            thread.id = 0;  // it ended meanwhile
            return;
        }
        if (found == thread.id) break;
        if (std::chrono::steady_clock::now() > deadline) fail(ETIMEDOUT, "a thread does not stop");
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    // an event stop is ours; anything else is a signal on its way to the program
    if ((status >> 16) == 0 && WSTOPSIG(status) != SIGTRAP) thread.signal = WSTOPSIG(status);
}

void ThreadStop::step(Thread& thread) {
    if (ptrace(PTRACE_SINGLESTEP, thread.id, nullptr, nullptr) != 0) {
        thread.id = 0;
        return;
    }
    wait_stopped(thread);
}

void ThreadStop::leave(const std::function<bool(std::uint64_t)>& is_forbidden) {
    for (Thread& thread : threads_) {
        for (int steps = 0; thread.id != 0; steps++) {
            user_regs_struct registers{};
            if (ptrace(PTRACE_GETREGS, thread.id, nullptr, &registers) != 0) break;
            if (!is_forbidden(registers.rip)) break;
            if (steps == kMaxSteps) fail(ETIMEDOUT, "a thread does not leave code that is to be changed");
            step(thread);
        }
    }
    std::erase_if(threads_, [](const Thread& thread) { return thread.id == 0; });
}

}  // namespace strobe
