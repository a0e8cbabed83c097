// Handlers of faults that throw, that jump, that run on a stack of their own; and what is said to be installed.
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#define TRACED [[gnu::noinline]]

static const int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT};
static const int kFlags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER;
static sigjmp_buf back;
static char own_stack[1 << 16];
static volatile std::intptr_t nowhere = 64;
static int (*volatile raises)(int) = raise;  // raise is declared not to throw
static long destroyed;

struct Guard {
    TRACED ~Guard() { destroyed++; }
};
TRACED void unblock(int number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
}
TRACED bool on_own_stack() {
    volatile char here = 0;
    return &here >= own_stack && &here < own_stack + sizeof own_stack;
}
TRACED void throws(int number) {
    unblock(number);
    throw std::runtime_error("fault");
}
TRACED void jumps(int number, siginfo_t* info, void*) {
    bool expected = number != SIGSEGV || info->si_addr == reinterpret_cast<void*>(nowhere);
    siglongjmp(back, expected && on_own_stack() ? number : 99);
}
TRACED void faults(int number) {
    Guard guard;
    if (number == SIGSEGV)
        *reinterpret_cast<volatile int*>(nowhere) = 1;
    else if (number == SIGILL)
        __asm__ volatile("ud2");
    else
        raises(number);
}
TRACED bool is_default(int number) {
    struct sigaction found = {};
    sigaction(number, nullptr, &found);
    return found.sa_handler == SIG_DFL;
}
TRACED void install(int number, void (*handler)(int, siginfo_t*, void*), int flags) {
    struct sigaction action = {}, before = {}, found = {};
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(number, &action, &before);
    sigaction(number, nullptr, &found);
    std::printf("%d: default before: %d, as installed: %d\n", number, before.sa_handler == SIG_DFL,
                found.sa_sigaction == handler && (found.sa_flags & kFlags) == flags &&
                    sigismember(&found.sa_mask, SIGUSR1) == 1 && sigismember(&found.sa_mask, SIGUSR2) == 0);
}
TRACED int catches(int number) {
    try {
        faults(number);
        return 0;
    } catch (const std::runtime_error&) {
        return 1;
    }
}
TRACED int returns_to(int number) {
    int found = sigsetjmp(back, 1);
    if (found == 0) faults(number);
    return found;
}

int main() {
    for (int number : kFaults) std::printf("%d default: %d\n", number, is_default(number));
    for (int number : kFaults) {
        install(number, [](int which, siginfo_t*, void*) { throws(which); }, SA_SIGINFO);
        int caught = 0;
        for (int round = 0; round < 50; round++) caught += catches(number);
        std::printf("%d: caught %d\n", number, caught);
        std::signal(number, SIG_DFL);
    }
    stack_t stack = {};
    stack.ss_sp = own_stack;
    stack.ss_size = sizeof own_stack;
    sigaltstack(&stack, nullptr);
    for (int number : kFaults) {
        install(number, jumps, SA_SIGINFO | SA_ONSTACK);
        int returned = 0;
        for (int round = 0; round < 50; round++) returned += returns_to(number) == number;
        std::printf("%d: jumped %d\n", number, returned);
    }
    std::printf("%ld destroyed, %s\n", destroyed, std::signal(SIGFPE, SIG_IGN) == SIG_ERR ? "refused" : "taken");
}
