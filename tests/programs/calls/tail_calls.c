/* Calls in tail position: built with -O2 they are jumps, and a loop of them reaches the entry of the same function
 * again. */
#include <stdio.h>

#define TRACED __attribute__((noinline))

TRACED long third(long value) {
    __asm__ volatile("" : "+r"(value));
    return value * 2;
}
TRACED long second(long value) { return third(value + 1); }
TRACED long first(long value) { return second(value + 1); }

long odd(long left, long sum);
TRACED long even(long left, long sum) { return left ? odd(left - 1, sum + left) : sum; }
TRACED long odd(long left, long sum) { return left ? even(left - 1, sum - 1) : -sum; }
TRACED long counts(long left, long sum) {
    __asm__ volatile("" : "+r"(sum));
    return left ? counts(left - 1, sum + left) : sum;
}

int main(void) {
    long sum = 0;
    for (long value = 0; value < 10000; value++) sum += first(value);
    printf("%ld %ld %ld %ld\n", sum, even(100, 0), odd(20000, 0), counts(20000, 0));
    return 0;
}
