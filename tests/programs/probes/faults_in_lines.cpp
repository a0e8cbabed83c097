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

// An indirect call of which not even the target can be read.
__attribute__((noinline)) static long call(long (*const* table)(long)) {
    long result = 0;
    asm volatile("call *(%1)" : "=a"(result) : "r"(table), "D"(41L) : "memory", "cc", "rcx", "rdx", "r8");  // calls
    return result;
}

static long (*const gTable[])(long) = {[](long n) { return n + 1; }};

static void throws(int) {
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGSEGV);
    sigprocmask(SIG_UNBLOCK, &own, nullptr);
    throw std::runtime_error("null");
}

static void looks(int, siginfo_t* information, void* context) {
    const greg_t pc = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
    const greg_t sp = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP];
    const auto within = [pc](auto* function) {
        const greg_t start = reinterpret_cast<greg_t>(function);
        return pc >= start && pc < start + 64;
    };
    std::printf("at %p, %s, %lld\n", information->si_addr,
                within(&get)    ? "in get"
                : within(&call) ? "in call"
                                : "elsewhere",
                sp & 15);
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
    const bool calls = argc > 2;
    std::printf("%ld\n", calls ? call(gTable) : get(&five));
    std::fflush(stdout);
    try {
        std::printf("%ld\n",
                    calls ? call(reinterpret_cast<long (*const*)(long)>(16)) : get(reinterpret_cast<const long*>(16)));
    } catch (const std::exception& error) {
        std::printf("caught %s\n", error.what());
    }
}
