/* Handlers that may interrupt themselves (SA_NODEFER), on an alternate stack of 64 KB: timers come every 50
   microseconds while threads begin, one after the other, and call. Says how often the handler was called. With an
   argument the program filters its system calls. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 200, CALLS = 3000, STACK = 65536, INTERVAL_NS = 50000 };

static long handled_calls;

__attribute__((noinline)) long handled(long value) {
    __atomic_fetch_add(&handled_calls, 1, __ATOMIC_SEQ_CST);
    return value + 1;
}

__attribute__((noinline)) long work(long value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

static void on_timer(int number) {
    if (handled(number) != number + 1) _exit(4);
}

static void* run(void* alternate) {
    const struct itimerspec often = {{0, INTERVAL_NS}, {0, INTERVAL_NS}};
    struct sigevent event;
    stack_t stack;
    timer_t timer;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = alternate;
    stack.ss_size = STACK;
    if (sigaltstack(&stack, NULL) != 0) _exit(2);
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGRTMIN + 2;
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) _exit(2);
    timer_settime(timer, 0, &often, NULL);
    for (long call = 0; call < CALLS; call++) {
        if (work(call) != call + 1) _exit(3);
    }
    timer_delete(timer);
    return NULL;
}

static int filter_calls(void) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int count, char** arguments) {
    void* stack = malloc(STACK);
    struct sigaction action;
    (void)arguments;
    if (count > 1 && filter_calls() != 0) return 2;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_timer;
    action.sa_flags = SA_RESTART | SA_NODEFER | SA_ONSTACK;
    sigaction(SIGRTMIN + 2, &action, NULL);
    for (int index = 0; index < THREADS; index++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run, stack) != 0) return 2;
        pthread_join(thread, NULL);
    }
    printf("handled %ld\n", handled_calls);
    return 0;
}
