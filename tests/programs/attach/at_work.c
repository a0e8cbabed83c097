/* A thread whose call takes a while to record, if a script runs at its return, and one that calls all the time; until
 * SIGUSR1, then says how often they called. */
#include <pthread.h>
#include <stdio.h>

#include "told.h"

#define TRACED __attribute__((noinline))

TRACED int slow(int value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}
TRACED int quick(int value) {
    __asm__ volatile("" : "+r"(value));
    return value + 2;
}

static void* call_slow(void* unused) {
    for (int value = 0; !told; value++) {
        slow(value);
        usleep(1000);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    run_until_told();
    pthread_create(&thread, NULL, call_slow, NULL);
    puts("ready");
    fflush(stdout);
    for (int value = 0; !told; value++) {
        quick(value);
        usleep(1000);
    }
    pthread_join(thread, NULL);
    return 0;
}
