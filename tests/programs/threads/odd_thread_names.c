/* Threads whose names contain newlines and brackets call a function at full speed, and check what it returns, until
 * SIGUSR1. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "told.h"

static atomic_long wrong;

__attribute__((noinline)) int hot(int value) {
    __asm__ volatile("" : "+r"(value));
    return value * 5 + 1000;
}

static void* run(void* name) {
    pthread_setname_np(pthread_self(), name);
    for (int value = 0; !told; value = (value + 1) % 1000) wrong += hot(value) != value * 5 + 1000;
    return NULL;
}

int main(void) {
    static char names[3][8] = {"a\nb", "\n) X 1", "c)\n(d"};
    pthread_t threads[3];
    run_until_told();
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, run, names[i]);
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    printf("%ld wrong\n", wrong);
    return 0;
}
