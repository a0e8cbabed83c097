/* Raises a signal all the time, and counts when its handler has not run before raise returned, until SIGUSR1. */
#include <stdio.h>

#include "told.h"

static volatile long came, late;

static void on_raise(int number) {
    (void)number;
    came++;
}

__attribute__((noinline)) long turn(long value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

/* Most of its time it is where an agent may be let in. */
__attribute__((noinline)) static void compute(void) {
    for (volatile int number = 0; number < 300000; number++) continue;
}

int main(void) {
    run_until_told();
    signal(SIGUSR2, on_raise);
    puts("ready");
    fflush(stdout);
    for (long rounds = 0; !told; rounds = turn(rounds)) {
        const long before = came;
        raise(SIGUSR2);
        late += came != before + 1;
        compute();
    }
    puts(late ? "wrong" : "right");
    return late != 0;
}
