/* longjmp over three frames, again and again, and calls that return normally in between. */
#include <setjmp.h>
#include <stdio.h>

#define TRACED __attribute__((noinline))

static jmp_buf landing;

TRACED int jumps(int value) {
    if (value % 3 == 0) longjmp(landing, value + 1);
    return value;
}
TRACED int passes(int value) { return jumps(value) + 1; }
TRACED int begins(int value) { return passes(value) + 1; }
TRACED int lands(int value) {
    int jumped = setjmp(landing);
    return jumped ? -jumped : begins(value);
}

int main(void) {
    long sum = 0;
    for (int value = 0; value < 10000; value++) sum += lands(value);
    printf("sum %ld, jumped %d, returned %d\n", sum, lands(6), lands(7));
    return 0;
}
