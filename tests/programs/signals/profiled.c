/*
 * Eight threads call 64 small functions all the time, each for itself, while SIGPROF comes at 1 kHz to whichever runs;
 * its handler calls one of them, too. Until SIGUSR1; then it says whether all sums were right.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/time.h>

#include "told.h"

enum { THREADS = 8, FUNCTIONS = 64 };
#define FUNCTION(n) \
    __attribute__((noinline)) long step_##n(long value) { return value * 3 + n; }
#define EIGHT(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7)
#define ALL(m) EIGHT(m, 1) EIGHT(m, 2) EIGHT(m, 3) EIGHT(m, 4) EIGHT(m, 5) EIGHT(m, 6) EIGHT(m, 7) EIGHT(m, 8)
#define NAME(n) step_##n,
#define NUMBER(n) n,

ALL(FUNCTION)
static long (*const table[])(long) = {ALL(NAME)};
static const long numbers[] = {ALL(NUMBER)};
static volatile long profiled, wrong_in_handlers;
static long wrong[THREADS];

__attribute__((noinline)) long in_handler(long value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

static void on_profile(int number) {
    const long at = profiled % FUNCTIONS; /* other threads count as well */
    (void)number;
    if (in_handler(41) != 42 || table[at](5) != 15 + numbers[at]) wrong_in_handlers = 1;
    profiled++;
}

static void* run(void* index) {
    for (long round = 0; !told || round == 0; round++) {
        long sum = 0, expected = 0;
        for (int i = 0; i < FUNCTIONS; i++) sum += table[i](round), expected += round * 3 + numbers[i];
        wrong[(long)index] += sum != expected;
    }
    return NULL;
}

int main(void) {
    const struct itimerval often = {{0, 1000}, {0, 1000}};
    struct sigaction action = {.sa_handler = on_profile, .sa_flags = SA_RESTART};
    pthread_t threads[THREADS];
    long all = 0;
    run_until_told();
    alarm(7200);
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
    puts("ready");
    fflush(stdout);
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, run, (void*)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL), all += wrong[i];
    puts(all + wrong_in_handlers ? "wrong" : "right");
    puts(profiled > 0 ? "profiled" : "not profiled");
    return 0;
}
