/* Computes in all registers that there are, vector registers among them, until SIGUSR1, and compares the results. */
#include <stdio.h>

#include "told.h"

enum { ROUNDS = 1000000 };

typedef double pair __attribute__((vector_size(16)));

__attribute__((noinline)) static double compute(void) {
    pair a = {0, 1}, b = {2, 3}, c = {4, 5}, d = {6, 7}, e = {8, 9}, f = {10, 11};
    pair g = {12, 13}, h = {14, 15}, i = {16, 17}, j = {18, 19}, k = {20, 21}, l = {22, 23};
    const pair one = {1, 2};
    for (long round = 0; round < ROUNDS; round++) {
        a += one, b += one, c += one, d += one, e += one, f += one;
        g += one, h += one, i += one, j += one, k += one, l += one;
        __asm__ volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d), "+x"(e), "+x"(f));
        __asm__ volatile("" : "+x"(g), "+x"(h), "+x"(i), "+x"(j), "+x"(k), "+x"(l));
    }
    const pair all = a + b + c + d + e + f + g + h + i + j + k + l;
    return all[0] * 3 + all[1];
}

__attribute__((noinline)) int step(int value) {
    __asm__ volatile("" : "+r"(value));
    return value * 5 + 1000;
}

int main(void) {
    long wrong = 0;
    run_until_told();
    const double right = compute();
    puts("ready");
    fflush(stdout);
    for (int calls = 0; !told; calls = step(calls) % 1000) wrong += compute() != right;
    printf("%ld wrong\n", wrong);
    return 0;
}
