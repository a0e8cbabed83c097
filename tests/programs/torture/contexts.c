/* Coroutines on stacks of their own, deep recursion, jumps out of it. */
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "torture.h"

#define STACK_BYTES 65536

static ucontext_t main_context, other_context;
static jmp_buf back;
static char* stack;
static volatile long passed;

TRACED void yield(long value) {
    passed = value;
    swapcontext(&other_context, &main_context);
}
TRACED void coroutine(void) {
    for (long value = 1; value <= 3; value++) yield(recursive(4, value));
    passed = 100;
}
TRACED long run_coroutine(void) {
    volatile long sum = 0;
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = stack;
    other_context.uc_stack.ss_size = STACK_BYTES;
    other_context.uc_link = &main_context;
    makecontext(&other_context, coroutine, 0);
    for (int turn = 0; turn < 4; turn++) {
        swapcontext(&main_context, &other_context);
        sum += passed;
    }
    return sum; /* 5 + 6 + 7 + 100 */
}
TRACED long jump_from(long depth) {
    if (depth == 0) longjmp(back, 3);
    if (depth < 0) return 0;
    long result = jump_from(depth - 1) + 1;
    __asm__ volatile("" : "+r"(result));
    return result;
}
TRACED long jump(void) {
    const int jumped = setjmp(back);
    return jumped ? jumped : jump_from(50);
}

static long round_of(long number) {
    check("coroutine", run_coroutine(), 118);
    check("jump", jump(), 3);
    counted(number);
    return recursive(number % 1500, 3 * number + 7) - number % 1500;
}

int main(int count, char** arguments) {
    stack = (char*)mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return run_rounds(count, arguments, round_of);
}
