/* A timer interrupts calls 3,000 times; its handler, on the same stack, makes calls of its own, some of them deep. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#define TRACED __attribute__((noinline))
enum { WANTED = 3000 };

static volatile sig_atomic_t handled;

TRACED long below(long depth) {
    __asm__ volatile("" : "+r"(depth));
    return depth ? below(depth - 1) + 1 : 0;
}
TRACED void on_timer(int number) {
    (void)number;
    if (below(handled % 5) != handled % 5) abort();
    handled++;
}
TRACED long inner(long value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}
TRACED long middle(long value) { return inner(value) + inner(value); }
TRACED long outer(long value) { return middle(value) - value - 1; }

int main(void) {
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 53}, {0, 53}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (long value = 0; handled < WANTED; value++)
        if (outer(value) != value + 1) return 1;
    puts("handled");
    return 0;
}
