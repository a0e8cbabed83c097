/* Calls two functions again and again and checks what they return, until SIGUSR1. Built with -DMOVED they have changed
 * places: all else, sizes and segments, is the same. */
#include <stdio.h>

#include "told.h"

#define FUNCTION(name, factor)                      \
    __attribute__((noinline)) int name(int value) { \
        __asm__ volatile("" : "+r"(value));         \
        return value * factor + 1000;               \
    }

#ifdef MOVED
FUNCTION(steady_three, 3)
FUNCTION(steady_two, 5)
#else
FUNCTION(steady_two, 5)
FUNCTION(steady_three, 3)
#endif

int main(void) {
    long wrong = 0;
    run_until_told();
    puts("ready");
    fflush(stdout);
    for (int value = 0; !told; value = (value + 1) % 1000) {
        wrong += steady_two(value) != value * 5 + 1000 || steady_three(value) != value * 3 + 1000;
        usleep(100);
    }
    puts(wrong ? "wrong" : "right");
    return 0;
}
