/* A timer's handler leaves by siglongjmp, a thousand times a second, wherever the main thread is; until SIGUSR1, or for
 * two minutes. */
#include <setjmp.h>
#include <stdio.h>
#include <sys/time.h>

#include "told.h"

static sigjmp_buf place;
static volatile long left;

static void on_timer(int number) {
    if (++left > 120000) _exit(1);
    siglongjmp(place, number);
}

__attribute__((noinline)) int step(int value) {
    __asm__ volatile("" : "+r"(value));
    return value * 5 + 1000;
}

int main(void) {
    const struct itimerval often = {{0, 1000}, {0, 1000}};
    static volatile int wrong;
    struct sigaction uninterrupted = {.sa_handler = on_told};
    sigaddset(&uninterrupted.sa_mask, SIGALRM);
    sigaction(SIGUSR1, &uninterrupted, NULL);
    puts("ready");
    fflush(stdout);
    sigsetjmp(place, 1);
    if (left == 0) {
        signal(SIGALRM, on_timer);
        setitimer(ITIMER_REAL, &often, NULL);
    }
    for (int value = 0; !told; value = (value + 1) % 1000) wrong |= step(value) != value * 5 + 1000;
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    puts(wrong || left == 0 ? "wrong" : "right");
    return 0;
}
