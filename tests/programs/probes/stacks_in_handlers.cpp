// Three threads and a coroutine call `leaf` from many depths, and are interrupted each half millisecond of CPU time by
// a handler on an alternate stack, which calls it as well. Prints what they have worked out.
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>

static volatile long sum;
static ucontext_t main_context, other;
static char other_stack[65536];

__attribute__((noinline)) long leaf(long n) {
    sum = n;
    return n + 1;
}

__attribute__((noinline)) long twice(long n) {
    long found = leaf(n);
    sum = found;
    return found + leaf(n + 1);
}

__attribute__((noinline)) long deep(long depth, long n) {
    if (depth == 0) return twice(n);
    long found = deep(depth - 1, n);
    sum = found;
    return found;
}

static void on_tick(int, siginfo_t*, void*) { sum = twice(1); }

static void routine() {
    for (int round = 0; round < 50; round++) {
        sum = deep(3, round);
        swapcontext(&other, &main_context);
    }
}

static void* work(void*) {
    long total = 0;
    stack_t own = {};
    own.ss_sp = std::malloc(65536);
    own.ss_size = 65536;
    sigaltstack(&own, nullptr);
    for (long round = 0; round < 8000; round++) {
        total += deep(round % 20, round);
        std::free(std::realloc(std::malloc(static_cast<size_t>(round % 100)), 200));
    }
    return reinterpret_cast<void*>(total);
}

int main() {
    struct sigaction action = {};
    action.sa_sigaction = on_tick;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    itimerval often = {{0, 500}, {0, 500}}, never = {};
    setitimer(ITIMER_PROF, &often, nullptr);
    pthread_t threads[3];
    for (auto& thread : threads) pthread_create(&thread, nullptr, work, nullptr);
    getcontext(&other);
    other.uc_stack.ss_sp = other_stack;
    other.uc_stack.ss_size = sizeof other_stack;
    other.uc_link = &main_context;
    makecontext(&other, routine, 0);
    for (int round = 0; round < 50; round++) swapcontext(&main_context, &other);
    long all = 0;
    for (auto& thread : threads) {
        void* total = nullptr;
        pthread_join(thread, &total);
        all += reinterpret_cast<long>(total);
    }
    setitimer(ITIMER_PROF, &never, nullptr);
    std::printf("%ld\n", all);
}
