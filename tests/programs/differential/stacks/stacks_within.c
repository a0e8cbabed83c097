/* Coroutines whose stacks are arrays in main's own frame: what they call lies above the functions that resumed them. */
#include <stdio.h>
#include <ucontext.h>

#define TRACED __attribute__((noinline))
enum { STACK_BYTES = 32768 };

static ucontext_t main_context, contexts[2];
static long sums[2];

TRACED void yield(int self) { swapcontext(&contexts[self], &main_context); }
TRACED long step(int self, long value) {
    yield(self);
    return value + self;
}
TRACED long deeper(int self, long value) { return step(self, value) + step(self, value); }
TRACED void body(int self) {
    for (long round = 0; round < 50; round++) sums[self] += deeper(self, round);
}
TRACED int resume(int self) {
    swapcontext(&main_context, &contexts[self]);
    return self;
}
TRACED int resume_both(int round) { return resume(0) + resume(1) * 2 + round; }

int main(void) {
    char stacks[2][STACK_BYTES];
    volatile long total = 0;
    for (int i = 0; i < 2; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = STACK_BYTES;
        contexts[i].uc_link = &main_context;
        makecontext(&contexts[i], (void (*)(void))body, 1, i);
    }
    for (int round = 0; round <= 100; round++) total += resume_both(round);
    printf("%ld %ld %ld\n", total, sums[0], sums[1]);
    return 0;
}
