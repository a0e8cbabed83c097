// Threads that go through the same code without end, until each has gone through it so often; a timer interrupts them.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { THREADS = 4 };
static long gRounds;
static volatile long gTicks;

__attribute__((noinline)) static unsigned turn(unsigned seed, unsigned* state) {
    unsigned value = seed;
    if (value % 3 == 0) {
        value += 7;
        *state ^= value;
    } else if (value % 3 == 1) {
        value *= 5;
    } else {
        value -= 11;
        *state += value;
    }
    for (unsigned i = 0; i < 3; i++) value = value * 31 + i;
    *state = *state * 17 + value;
    return value;  // turned
}

static void tick(int signal) {
    (void)signal;
    gTicks++;
}

static void* go(void* argument) {
    unsigned* state = argument;
    unsigned seed = *state;
    for (long i = 0; i < gRounds; i++) seed = turn(seed, state);
    *state += seed;
    return NULL;
}

int main(int argc, char** argv) {
    pthread_t threads[THREADS];
    unsigned states[THREADS];
    struct sigaction action;
    struct itimerval every = {{0, 1000}, {0, 1000}};
    gRounds = argc > 1 ? atol(argv[1]) : 1000;
    memset(&action, 0, sizeof action);
    action.sa_handler = tick;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &every, NULL);
    for (int i = 0; i < THREADS; i++) {
        states[i] = (unsigned)i + 1;
        pthread_create(&threads[i], NULL, go, &states[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) printf("%u\n", states[i]);
}
