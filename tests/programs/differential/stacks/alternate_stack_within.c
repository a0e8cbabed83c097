/* The alternate signal stack is an array in main's own frame, above the functions that are interrupted; handlers nest,
 * and one of them jumps out. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

#define TRACED __attribute__((noinline))

static sigjmp_buf back;
static long calls, rounds;

TRACED long work(long value) {
    __asm__ volatile("" : "+r"(value));
    calls++;
    return value + 1;
}
TRACED void second(int number) { calls += work(number); }
TRACED void first(int number) {
    calls += work(number);
    raise(SIGUSR2);
    if (work(rounds++) % 3 == 0) siglongjmp(back, 1);
    work(0);
}
TRACED long interrupted(long depth) {
    if (depth) return interrupted(depth - 1) + work(depth);
    raise(SIGUSR1);
    return work(7);
}
TRACED long round_of(long depth) { return sigsetjmp(back, 1) ? -1 : interrupted(depth); }

int main(void) {
    char memory[65536];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction one = {.sa_handler = first, .sa_flags = SA_ONSTACK};
    struct sigaction two = {.sa_handler = second, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &one, NULL);
    sigaction(SIGUSR2, &two, NULL);
    for (long depth = 0; depth < 40; depth++) printf("%ld ", round_of(depth));
    printf("%ld\n", calls);
    return 0;
}
