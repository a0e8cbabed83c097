/* Threads call a function all the time, until SIGUSR1; then says whether each sum was right. A handler of SIGUSR2 says
   that it runs, and ends when it reads a byte. After SIGHUP a handler jumps out of the calls again and again, and
   says when it has done so often enough. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "told.h"

#define MOST_THREADS 16
#define OFTEN 100

static volatile int wrong;
static volatile unsigned long jumps, number;
static sigjmp_buf start;

static void on_user(int signal_number) {
    char byte = 'h';
    (void)signal_number;
    if (write(1, &byte, 1) != 1 || read(0, &byte, 1) != 1) _exit(1);
}

static void on_profile(int signal_number) {
    const struct itimerval never = {{0, 0}, {0, 0}};
    char byte = 'j';
    (void)signal_number;
    if (++jumps == OFTEN) {
        setitimer(ITIMER_PROF, &never, NULL);
        if (write(1, &byte, 1) != 1) _exit(1);
    }
    siglongjmp(start, 1);
}

static void on_hangup(int signal_number) {
    const struct itimerval often = {{0, 1000}, {0, 1000}};
    (void)signal_number;
    jumps = 0;
    setitimer(ITIMER_PROF, &often, NULL);
}

__attribute__((noinline)) unsigned long step(unsigned long number) {
    __asm__ volatile("" ::: "memory");
    return 2 * number + 1;
}

static void* call_on(void* unused) {
    unsigned long count = 0, sum = 0;
    while (!told) sum += step(count++);
    if (sum != count * count) wrong = 1;
    return unused;
}

static void call_and_jump(void) {
    sigsetjmp(start, 1);
    signal(SIGPROF, on_profile);
    while (!told) {
        const unsigned long own = number++;
        if (step(own) != 2 * own + 1) wrong = 1;
    }
}

int main(int count, char** arguments) {
    pthread_t threads[MOST_THREADS];
    int others = count > 1 ? atoi(arguments[1]) : 0;
    run_until_told();
    signal(SIGUSR2, on_user);
    signal(SIGHUP, on_hangup);
    if (write(1, "r", 1) != 1) return 1;
    for (int i = 0; i < others; i++) pthread_create(&threads[i], NULL, call_on, NULL);
    if (others > 0)
        call_on(NULL);
    else
        call_and_jump();
    for (int i = 0; i < others; i++) pthread_join(threads[i], NULL);
    return wrong;
}
