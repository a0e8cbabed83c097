/* Functions of 1 to 8 bytes, called through pointers. Built with -O2 -falign-functions=1 they lie side by side. */
#include <stdio.h>

#define TRACED __attribute__((noinline))

TRACED void nothing(void) {}                          /* ret: 1 byte */
TRACED int zero(void) { return 0; }                   /* 3 bytes */
TRACED int same(int value) { return value; }          /* 3 bytes */
TRACED int next(int value) { return value + 1; }      /* 4 bytes */
TRACED long product(long a, long b) { return a * b; } /* 8 bytes */
TRACED int one(void) { return 1; }                    /* 6 bytes */

/* The second function begins right behind the first one's `ret`, so a patch of the first must not reach it. */
__asm__(
    ".text\n.globl short_one, short_two\n.type short_one, @function\n.type short_two, @function\n"
    "short_one: ret\n.size short_one, .-short_one\n"
    "short_two: lea 2(%rdi), %eax\n ret\n.size short_two, .-short_two\n");
void short_one(void);
int short_two(int value);

int main(void) {
    void (*volatile call_nothing[])(void) = {nothing, short_one};
    int (*volatile call_constant[])(void) = {zero, one};
    int (*volatile call_int[])(int) = {same, next, short_two};
    long (*volatile call_product)(long, long) = product;
    long sum = 0;
    for (int round = 0; round < 1000; round++) {
        for (int i = 0; i < 2; i++) call_nothing[i](), sum += call_constant[i]();
        for (int i = 0; i < 3; i++) sum += call_int[i](round);
        sum += call_product(round, 3);
    }
    printf("%ld\n", sum);
    return 0;
}
