/* Functions whose values are at the same places in the machine, and at others. */
#include <stdio.h>

__attribute__((noinline)) int one(int value) { return value + 1; }

__attribute__((noinline)) int same(int number) { return number * 2; }

__attribute__((noinline)) int other(int first, int second) { return first - second; }

int main(void) {
    int sum = 0;
    for (int index = 0; index < 3; index++) sum += one(index) + same(index) + other(index, 1);
    printf("%d\n", sum);
    return 0;
}
