/* gcc's nested functions: called through trampolines that lie on the stack, with the frame's address in r10. */
#include <stdio.h>
#include <stdlib.h>

#define TRACED __attribute__((noinline))

TRACED long apply(long (*function)(long), long value) { return function(value) + 1; }

TRACED long outer(long base, long rounds) {
    long calls = 0;
    TRACED long inner(long value) {
        calls++;
        return value + base;
    }
    TRACED long deeper(long value) {
        TRACED long innermost(long x) { return inner(x) * 2 + calls; }
        return apply(innermost, value);
    }
    long sum = 0;
    for (long i = 0; i < rounds; i++) sum += apply(inner, i) + apply(deeper, i);
    return sum * 1000 + calls;
}
TRACED long leaves(long value) {
    __label__ out;
    long result = 0;
    TRACED void jumps_out(long by) {
        result = by;
        if (by > 0) goto out; /* to the outer function, over the frames between */
    }
    TRACED long between(void (*function)(long), long by) {
        function(by);
        return 7;
    }
    result = between(jumps_out, -value) + between(jumps_out, value);
out:
    return result;
}
TRACED void sort(int* values, int count, int direction) {
    TRACED int compare(const void* a, const void* b) { return direction * (*(const int*)a - *(const int*)b); }
    qsort(values, (size_t)count, sizeof *values, compare);
}

int main(void) {
    int values[50];
    for (int i = 0; i < 50; i++) values[i] = i * 37 % 50;
    for (long i = 0; i < 20; i++) printf("%ld %ld\n", outer(i, 10), leaves(i));
    sort(values, 50, 1), printf("%d %d\n", values[0], values[49]);
    sort(values, 50, -1), printf("%d %d\n", values[0], values[49]);
    return 0;
}
