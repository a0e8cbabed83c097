/* 20 arguments of every class: the stack below the return address holds most of them. */
#include <stdio.h>

#define TRACED __attribute__((noinline))
typedef struct {
    long a, b, c;
} large;

TRACED long integers(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l,
                     long m, long n, long o, long p, long q, long r, long s, long t) {
    return a - b + c - d + e - f + g - h + i - j + k - l + m - n + o - p + q - r + s * 3 + t * 5;
}
TRACED double doubles(double a, double b, double c, double d, double e, double f, double g, double h, double i,
                      double j, double k, double l, double m, double n, double o, double p, double q, double r,
                      double s, double t) {
    return a - b + c - d + e - f + g - h + i - j + k - l + m - n + o - p + q - r + s * 3 + t * 5;
}
TRACED double both(char a, float b, short c, double d, int e, float f, long g, long double h, unsigned i, double j,
                   large k, float l, __int128 m, double n, char o, double p, long q, float r, large s, double t) {
    return a + b * c + d * e + f * g + (double)h * i + j * k.a + l * (double)m + n * o + p * q + r * s.c + t;
}
TRACED long passes(int depth, long a, long b, long c, long d, long e, long f, long g, long h) {
    return depth ? passes(depth - 1, b, c, d, e, f, g, h, a) + h : a - b + c - d + e - f + g - h;
}

int main(void) {
    for (int n = 0; n < 100; n++) {
        printf("%ld ", integers(n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, n));
        printf("%g ", doubles(n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, n));
        printf("%g ", both((char)n, 2, 3, 4, 5, 6, 7, 8, 9, 10, (large){1, 2, 3}, 12, 13, 14, 15, 16, 17, 18,
                           (large){4, 5, 6}, n));
        printf("%ld\n", passes(n, 1, 2, 3, 4, 5, 6, 7, n));
    }
    return 0;
}
