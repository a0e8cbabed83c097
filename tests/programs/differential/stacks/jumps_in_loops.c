/* setjmp in loops and in recursion, jumps over many frames and over one, out of a library's callback, into callers of
 * callers, and getcontext used as a setjmp. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define TRACED __attribute__((noinline))

static jmp_buf top, levels[20];
static int comparisons;

TRACED void jump(jmp_buf where, int value) { longjmp(where, value); }
TRACED int dive(int depth, int value) {
    if (depth == 0) jump(top, value);
    if (depth < 0) return 0;
    return dive(depth - 1, value) + 1;
}
TRACED int loops(int rounds) {
    volatile int sum = 0, round = 0;
    while (round < rounds) {
        int value = setjmp(top);
        if (value == 0) dive(round % 30, round + 1);
        sum += value;
        round++;
    }
    return sum;
}
TRACED int ladder(int level) {
    volatile int caught = 0;
    if (level == 20) jump(levels[7], 1);
    int value = setjmp(levels[level]);
    if (value == 0)
        caught += ladder(level + 1);
    else if (level > 0)
        jump(levels[level - 1], value + 1);
    return caught + value;
}
TRACED int compare(const void* a, const void* b) {
    if (++comparisons % 50 == 0) jump(top, comparisons);
    return *(const int*)a - *(const int*)b;
}
TRACED int sort(int rounds) {
    volatile int left = 0;
    for (volatile int round = 0; round < rounds; round++) {
        int values[40];
        for (int i = 0; i < 40; i++) values[i] = i * 17 % 40;
        if (setjmp(top) == 0)
            qsort(values, 40, sizeof *values, compare);
        else
            left++;
    }
    return left;
}
TRACED void go_back(ucontext_t* context) { setcontext(context); }
TRACED int contexts(int rounds) {
    ucontext_t context;
    volatile int round = 0;
    getcontext(&context);
    if (++round < rounds) go_back(&context);
    return round;
}

int main(void) {
    for (int i = 0; i < 5; i++) printf("%d %d %d %d\n", loops(200), ladder(0), sort(10), contexts(50));
    return 0;
}
