/* Three coroutines on stacks of their own, each calling and switching away in the middle of its calls. */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define TRACED __attribute__((noinline))
enum { COROUTINES = 3, ROUNDS = 1000, STACK_BYTES = 65536 };

static ucontext_t main_context, contexts[COROUTINES];
static long sums[COROUTINES];

TRACED void yield_from(int self) { swapcontext(&contexts[self], &main_context); }
TRACED long step(int self, long round) {
    yield_from(self);
    return round * (self + 1);
}
TRACED void body(int self) {
    for (long round = 0; round < ROUNDS; round++) sums[self] += step(self, round);
}
TRACED void resume(int self) { swapcontext(&main_context, &contexts[self]); }

int main(void) {
    for (int i = 0; i < COROUTINES; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = malloc(STACK_BYTES);
        contexts[i].uc_stack.ss_size = STACK_BYTES;
        contexts[i].uc_link = &main_context;
        makecontext(&contexts[i], (void (*)(void))body, 1, i);
    }
    for (int round = 0; round <= ROUNDS; round++)
        for (int i = 0; i < COROUTINES; i++) resume(i);
    printf("%ld %ld %ld\n", sums[0], sums[1], sums[2]);
    return 0;
}
