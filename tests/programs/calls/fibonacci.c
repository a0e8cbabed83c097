/* A function that calls itself twice, and two that call each other: their calls lie within one another. */
#include <stdio.h>

#define TRACED __attribute__((noinline))

TRACED long fib(long n) {
    long sum = n < 2 ? n : fib(n - 1) + fib(n - 2);
    __asm__ volatile("" : "+r"(sum));
    return sum;
}

long odd(long n);
TRACED long even(long n) {
    long answer = n == 0 ? 1 : odd(n - 1);
    __asm__ volatile("" : "+r"(answer));
    return answer;
}
TRACED long odd(long n) {
    long answer = n == 0 ? 0 : even(n - 1);
    __asm__ volatile("" : "+r"(answer));
    return answer;
}

int main(void) {
    long evens = 0;
    for (long n = 0; n < 100; n++) evens += even(n);
    printf("%ld %ld\n", fib(20), evens);
    return 0;
}
