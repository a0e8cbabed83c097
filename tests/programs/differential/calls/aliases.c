/* Names of functions that are not one function each: aliases, weak ones, indirect functions resolved at the start,
 * pointers to them, clones for CPUs, cold parts. */
#include <stdio.h>
#include <stdlib.h>

#define TRACED __attribute__((noinline))

TRACED int real(int value) { return value + 1; }
int also_real(int value) __attribute__((alias("real")));
int weakly_real(int value) __attribute__((weak, alias("real")));
__attribute__((weak)) int absent(int value);

TRACED static int chosen(int value) { return value * 3; }
static int (*resolve(void))(int) { return chosen; }
int indirect(int value) __attribute__((ifunc("resolve")));

__attribute__((target_clones("default", "avx2"))) int cloned(const int* values, int count) {
    int sum = 0;
    for (int i = 0; i < count; i++) sum += values[i] * values[i];
    return sum;
}
TRACED __attribute__((cold)) int rarely(int value) {
    printf("rarely %d\n", value);
    return -1;
}
TRACED int with_cold_part(int value) {
    if (__builtin_expect(value % 100 == 99, 0)) {
        if (value > 1000) abort();
        return rarely(value);
    }
    return value * 2;
}
TRACED static int only_with_seven(int value, int seven) { return value % seven; }

int main(void) {
    int (*volatile pointers[])(int) = {real, also_real, weakly_real, indirect};
    int values[100], sum = 0;
    for (int i = 0; i < 100; i++) values[i] = i;
    for (int i = 0; i < 300; i++) {
        sum += pointers[i % 4](i) + also_real(i) + weakly_real(i) + indirect(i) + with_cold_part(i);
        sum += only_with_seven(i, 7) + cloned(values, i % 100);
    }
    printf("%d %d\n", sum, absent ? absent(1) : 0);
    return 0;
}
