/* Does nothing but call a function, until SIGUSR1. */
#include "told.h"

__attribute__((noinline)) int called(int value) {
    __asm__ volatile("" : "+r"(value));
    return value * 5 + 1000;
}

int main(void) {
    run_until_told();
    for (int value = 0; !told;) value = called(value) & 0xffff;
    return 0;
}
