#include "patch/threads/thread_pointer.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "patch/target/tracer.h"

namespace strobe {

namespace {

constexpr auto kStopTimeout = std::chrono::seconds(2);

[[noreturn]] void fail(int error) {
    throw std::system_error(error, std::generic_category(), "a thread is not stopped");
}

// The status of waitpid; 0 when the thread does not stop in time.
int wait_stopped(pid_t thread) {
    const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
    int status = 0;
    while (std::chrono::steady_clock::now() < deadline) {
        const pid_t found = wait_for_tracee(thread, &status, __WALL | WNOHANG);
        if (found < 0) fail(ESRCH);
        if (found == thread && !WIFSTOPPED(status)) fail(ESRCH);
        if (found == thread) return status;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return 0;
}

// 0 where the kernel does not say.
std::uint64_t pointer_of_stopped(pid_t thread) {
#ifdef __x86_64__
    user_regs_struct registers{};
    iovec whole{&registers, sizeof registers};
    return ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &whole) == 0 ? registers.fs_base : 0;
#else
    std::uint64_t pointer = 0;
    iovec whole{&pointer, sizeof pointer};
    return ptrace(PTRACE_GETREGSET, thread, NT_ARM_TLS, &whole) == 0 ? pointer : 0;
#endif
}

}  // namespace

std::uint64_t thread_pointer(pid_t thread) {
    std::uint64_t pointer = 0;
    as_tracer([thread, &pointer] {
        if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) fail(errno);
        ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
        const int status = wait_stopped(thread);
        if (status == 0) fail(ETIMEDOUT);
        pointer = pointer_of_stopped(thread);
        let_go(thread);
    });
    return pointer;
}

}  // namespace strobe
