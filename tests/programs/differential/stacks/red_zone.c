/* Leaf functions that keep their locals below the stack pointer, in loops that lead back to their first byte. */
#include <stdio.h>

#define TRACED __attribute__((noinline))

TRACED long leaf(long a, long b) {
    volatile long cells[8] = {a, b, a + b, a - b, a * 2, b * 2, a ^ b, a | b};
    long sum = 0;
    for (int i = 0; i < 8; i++) sum += cells[i] * (i + 1);
    return sum;
}
TRACED long loops(long value) {
    volatile long kept = value;
    while (kept % 17) kept = kept + 1;
    return kept;
}
TRACED long gcd(long a, long b) { return b ? gcd(b, a % b) : a; }
TRACED unsigned collatz(unsigned long n, unsigned steps) {
    return n == 1 ? steps : collatz(n % 2 ? 3 * n + 1 : n / 2, steps + 1);
}
TRACED int is_even(unsigned n);
TRACED int is_odd(unsigned n) { return n ? is_even(n - 1) : 0; }
TRACED int is_even(unsigned n) { return n ? is_odd(n - 1) : 1; }

int main(void) {
    long sum = 0;
    for (long i = 1; i < 500; i++)
        sum = (sum * 31 + leaf(i, i * 3) + loops(i) + gcd(i * 12, 5040) + collatz((unsigned long)i, 0)) % 1000003;
    printf("%ld %d %d\n", sum, is_even(101), is_odd(40));
    return 0;
}
