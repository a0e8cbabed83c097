/* At the first SIGUSR1 300 coroutines run, each until a timer's handler switches from it to the next: all stay
   suspended where that found them. At the second one each goes on, and ends. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>

#define COROUTINES 300
#define STACK_BYTES 65536

static ucontext_t waiting, coroutines[COROUTINES];
static volatile int current, is_going_on;
static volatile long calls[COROUTINES];
static int is_right = 1;

static void block(int how) {
    sigset_t timer;
    sigemptyset(&timer);
    sigaddset(&timer, SIGALRM);
    sigprocmask(how, &timer, NULL);
}

static void on_timer(int number) {
    (void)number;
    if (is_going_on || !calls[current]) return; /* on a busy machine it has not come to run yet */
    const int interrupted = current++;
    swapcontext(&coroutines[interrupted], current < COROUTINES ? &coroutines[current] : &waiting);
}

__attribute__((noinline)) long leaf(long number, const char* text) {
    __asm__ volatile("" ::: "memory");
    return number + text[0];
}

__attribute__((noinline)) long never(long number) { return leaf(number, "n"); }

static void body(int id) {
    block(SIG_UNBLOCK);
    while (!is_going_on) {
        if (leaf(id, "q") != id + 'q') is_right = 0;
        calls[id]++;
    }
    block(SIG_BLOCK);
    setcontext(&waiting);
}

static void await(void) {
    sigset_t told;
    int number;
    sigemptyset(&told);
    sigaddset(&told, SIGUSR1);
    sigprocmask(SIG_BLOCK, &told, NULL);
    sigwait(&told, &number);
}

int main(int argc, char** argv) {
    const struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    const struct itimerval often = {.it_interval = {.tv_usec = 1000}, .it_value = {.tv_usec = 1000}}, none = {0};
    (void)argv;
    if (argc > 9) never(argc);
    block(SIG_BLOCK);
    for (int id = 0; id < COROUTINES; id++) {
        getcontext(&coroutines[id]);
        coroutines[id].uc_stack.ss_sp = malloc(STACK_BYTES);
        coroutines[id].uc_stack.ss_size = STACK_BYTES;
        makecontext(&coroutines[id], (void (*)(void))body, 1, id);
    }
    sigaction(SIGALRM, &action, NULL);
    puts("ready");
    fflush(stdout);
    await();
    setitimer(ITIMER_REAL, &often, NULL);
    swapcontext(&waiting, &coroutines[0]);
    setitimer(ITIMER_REAL, &none, NULL);
    puts("suspended");
    fflush(stdout);
    await();
    is_going_on = 1;
    for (volatile int id = 0; id < COROUTINES; id++) {
        swapcontext(&waiting, &coroutines[id]);
        if (!calls[id]) is_right = 0;
    }
    puts(is_right ? "right" : "wrong");
    return 0;
}
