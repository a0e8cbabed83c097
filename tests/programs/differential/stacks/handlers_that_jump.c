/* A timer's handler leaves by siglongjmp, 2,000 times, in the middle of whatever runs; half of them on a stack of their
 * own. Between them a fault is mended in the same way. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#define TRACED __attribute__((noinline))
enum { WANTED = 1000 };

static sigjmp_buf back;
static volatile sig_atomic_t jumps, armed;
static volatile int* volatile nowhere;

TRACED void leave(int number) { siglongjmp(back, number); }
TRACED void on_signal(int number) {
    if (number == SIGALRM && !armed) return;
    armed = 0;
    leave(number);
}
TRACED long inner(long value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}
TRACED long outer(long value) { return inner(value) + inner(value + 1) - value - 2; }
TRACED int faults(int value) { return *nowhere + value; }
TRACED long checked(long value) {
    long result = outer(value);
    if (result != value + 1) abort();
    return result;
}
TRACED void phase(int flags) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    struct itimerval often = {{0, 97}, {0, 97}};
    struct itimerval never = {{0, 0}, {0, 0}};
    volatile long value = 0;
    volatile int faulted = 0;
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    jumps = 0;
    while (jumps < WANTED) {
        int number = sigsetjmp(back, 1);
        if (number == SIGALRM) jumps++;
        if (number == SIGSEGV) faulted++;
        if (jumps >= WANTED) break;
        if (jumps % 10 == 9 && faulted < jumps / 10) faults(3);
        armed = 1;
        for (;;) value = checked(value);
    }
    armed = 0;
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d jumps, %d faults\n", (int)jumps, faulted);
}

int main(void) {
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, NULL);
    phase(0);
    phase(SA_ONSTACK);
    return 0;
}
