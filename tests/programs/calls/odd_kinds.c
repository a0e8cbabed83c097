/* Calls of which one in a thousand is unlike the others, each function in another way. */
#include <stddef.h>
#include <stdio.h>

#define TRACED __attribute__((noinline))

TRACED const char* name_of(int number) {
    __asm__ volatile("");
    return number == 77 ? NULL : "article";
}

TRACED void say(const char* words) { __asm__ volatile("" : : "r"(words)); }

TRACED void* place_of(int number) {
    __asm__ volatile("");
    return number == 300 ? NULL : &stdout;
}

TRACED void work(int number) {
    for (volatile int round = 0; round < (number == 400 ? 3000000 : 1);) round = round + 1;
}

int main(void) {
    for (int number = 1; number <= 1000; number++) {
        name_of(number);
        say(number == 5 ? NULL : "words");
        place_of(number);
        work(number);
    }
    return 0;
}
