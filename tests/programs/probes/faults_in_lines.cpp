// Faults in a line that is probed: thrown from the handler, looked at by it, and deadly.
#include <ucontext.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

__attribute__((noinline)) static long get(const long* place) {
    long value = *place;  // reads
    return value + 1;
}

static void throws(int) {
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGSEGV);
    sigprocmask(SIG_UNBLOCK, &own, nullptr);
    throw std::runtime_error("null");
}

static void looks(int, siginfo_t* information, void* context) {
    const greg_t pc = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
    const greg_t start = reinterpret_cast<greg_t>(&get);
    std::printf("at %p, %s\n", information->si_addr, pc >= start && pc < start + 64 ? "in get" : "elsewhere");
    std::exit(3);
}

int main(int argc, char** argv) {
    const char how = argc > 1 ? argv[1][0] : 'd';
    struct sigaction action = {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = looks;
    if (how == 't') std::signal(SIGSEGV, throws);
    if (how == 'l') sigaction(SIGSEGV, &action, nullptr);
    const long five = 5;
    std::printf("%ld\n", get(&five));
    std::fflush(stdout);
    try {
        std::printf("%ld\n", get(reinterpret_cast<const long*>(16)));
    } catch (const std::exception& error) {
        std::printf("caught %s\n", error.what());
    }
}
