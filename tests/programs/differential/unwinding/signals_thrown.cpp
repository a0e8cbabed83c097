// Exceptions thrown by a signal handler, in the middle of calls (-fnon-call-exceptions).
#pragma GCC optimize("non-call-exceptions")
#include <csignal>
#include <cstdio>
#include <stdexcept>

#define TRACED [[gnu::noinline]]

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
TRACED void on_signal(int number) {
    unblock(number);
    throw std::runtime_error("signal");
}
TRACED int raises() {
    Guard guard;
    raise(SIGUSR1);
    return 1;
}
TRACED int calls(int depth) {
    Guard guard;
    return depth > 0 ? calls(depth - 1) + 1 : raises();
}
TRACED int catches(int depth) {
    try {
        return calls(depth);
    } catch (const std::runtime_error&) {
        return -depth;
    }
}

int main() {
    struct sigaction action = {};
    action.sa_handler = on_signal;
    sigaction(SIGUSR1, &action, nullptr);
    long sum = 0;
    for (int round = 0; round < 200; round++) sum += catches(round % 10);
    std::printf("%ld %ld\n", sum, destroyed);
}
