/* A scheduler that preempts three coroutines: a handler of SIGALRM, some thousand times a second, switches from the one
   that it has interrupted to the next. Which it goes on with is in the middle of anything. SIGUSR1 ends it. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define COROUTINES 3
#define STACK_BYTES 131072
#define DEPTH 12

static ucontext_t waiting, coroutines[COROUTINES];
static volatile int current;
static volatile long rounds[COROUTINES];
static volatile sig_atomic_t told;

static void on_told(int number) { told = number; }

static void block(int how) {
    sigset_t timer;
    sigemptyset(&timer);
    sigaddset(&timer, SIGALRM);
    sigprocmask(how, &timer, NULL);
}

static void on_timer(int number) {
    (void)number;
    const int interrupted = current;
    current = (current + 1) % COROUTINES;
    swapcontext(&coroutines[interrupted], &coroutines[current]);
}

__attribute__((noinline)) long leaf(long depth, const char* text) {
    __asm__ volatile("" ::: "memory");
    return depth + text[0];
}

__attribute__((noinline)) long nested(int depth) { return depth ? nested(depth - 1) + leaf(depth, "q") : 0; }

/* SIGALRM is blocked in what a coroutine begins with: it must not come while that is being loaded. */
static void body(int id) {
    const long expected = DEPTH * (DEPTH + 1) / 2 + DEPTH * 'q';
    block(SIG_UNBLOCK);
    while (nested(DEPTH) == expected) {
        rounds[id]++;
        if (!told) continue;
        block(SIG_BLOCK);
        setcontext(&waiting);
    }
    puts("wrong");
    _exit(3);
}

int main(void) {
    volatile int is_back = 0;
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    const struct itimerval often = {.it_interval = {.tv_usec = 300}, .it_value = {.tv_usec = 300}};
    block(SIG_BLOCK);
    for (int id = 0; id < COROUTINES; id++) {
        getcontext(&coroutines[id]);
        coroutines[id].uc_stack.ss_sp = malloc(STACK_BYTES);
        coroutines[id].uc_stack.ss_size = STACK_BYTES;
        makecontext(&coroutines[id], (void (*)(void))body, 1, id);
    }
    sigaction(SIGALRM, &action, NULL);
    action.sa_handler = on_told;
    sigaction(SIGUSR1, &action, NULL);
    puts("ready");
    fflush(stdout);
    setitimer(ITIMER_REAL, &often, NULL);
    getcontext(&waiting);
    if (!is_back) {
        is_back = 1;
        setcontext(&coroutines[0]);
    }
    puts(rounds[0] && rounds[1] && rounds[2] ? "right" : "one has not run");
    return 0;
}
