/* Adds without end until SIGTERM; then it says how often. Built with -O2 the function begins with an instruction that
   is longer than a jump. */
#include <stdio.h>

#include "told.h"

static long gSum;

__attribute__((noinline)) long add(long number) {
    gSum += number; /* adds */
    return gSum;
}

int main(void) {
    long times = 0;
    run_until_told();
    signal(SIGTERM, on_told);
    puts("ready"), fflush(stdout);
    while (told != SIGTERM)
        for (int i = 0; i < 1000; i++, times++) add(times & 3);
    printf("%ld\n", times);
    return 0;
}
