/* Gives a structure, and a pointer to a function, to `measure` all the time, until SIGUSR1. -DMORE: a build with other
   code and another structure. */
#include <stdio.h>

#include "told.h"

struct box {
#ifdef MORE
    long more;
#endif
    int width, height;
};

int measured;

__attribute__((noinline)) int measure(struct box* box, int (*tell)(const char*)) {
    __asm__ volatile("" : "+r"(box), "+r"(tell) : : "memory");
#ifdef MORE
    measured += box->more > 0;
#endif
    measured++;
    return box->width;
}

__attribute__((noinline)) int say(const char* line) {
    puts(line);
    return fflush(stdout);
}

int main(void) {
    struct box box = {.width = 7, .height = 9};
    run_until_told();
    say("ready");
    while (!told) {
        if (measure(&box, say) != 7) return 2;
        usleep(1000);
    }
    return 0;
}
