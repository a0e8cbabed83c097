/* Two threads that call, through frames that stay open for a while, until SIGUSR1; then says whether all sums were
 * right. */
#include <pthread.h>
#include <stdio.h>

#include "told.h"

#define TRACED __attribute__((noinline))

volatile long gSteps;
static volatile int wrong;

TRACED int step(int value) {
    __asm__ volatile("" : "+r"(value));
    __atomic_fetch_add(&gSteps, 1, __ATOMIC_RELAXED);
    return value + 1;
}
TRACED int turn(int value) { return step(value) + step(value); }
/* Open for half a second: whoever attaches and detaches meanwhile leaves its return to be caught. */
TRACED int long_turn(int value) {
    int sum = 0;
    for (int count = 0; count < 100 && !told; count++) {
        for (int one = 0; one < 10; one++) sum += turn(value) - 2 * value - 2;
        usleep(5000);
    }
    return sum + value;
}
static void* call_on(void* unused) {
    for (int value = 0; !told; value++)
        if (long_turn(value) != value) wrong = 1;
    return unused;
}

int main(void) {
    pthread_t thread;
    run_until_told();
    alarm(4000); /* some tests take long */
    pthread_create(&thread, NULL, call_on, NULL);
    puts("ready");
    fflush(stdout);
    call_on(NULL);
    pthread_join(thread, NULL);
    puts(wrong ? "wrong" : "right");
    return 0;
}
