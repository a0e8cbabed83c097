/* Structures as results: in rax, rdx, xmm0, xmm1 in every mixture, on the x87 stack, and through a hidden pointer. */
#include <complex.h>
#include <stdio.h>

#define TRACED __attribute__((noinline))
#define RETURNS(name, type, ...)        \
    TRACED type name(int n) {           \
        __asm__ volatile("" : "+r"(n)); \
        return (type)__VA_ARGS__;       \
    }

typedef struct {
    long a, b;
} integers;
typedef struct {
    double a, b;
} doubles;
typedef struct {
    long a;
    double b;
} integer_first;
typedef struct {
    double a;
    long b;
} double_first;
typedef struct {
    float a, b, c;
} floats;
typedef struct {
    char bytes[3];
} odd;
typedef struct {
    long a, b, c;
} hidden;
typedef struct {
    long double a;
} extended;
typedef struct {
    char a;
    int b;
} __attribute__((packed)) packed;
typedef struct {
} empty;

RETURNS(two_integers, integers, {n, n + 1})
RETURNS(two_doubles, doubles, {n, n + .5})
RETURNS(integer_then_double, integer_first, {n, n + .5})
RETURNS(double_then_integer, double_first, {n + .5, n})
RETURNS(three_floats, floats, {n, n + .5f, n + .25f})
RETURNS(three_bytes, odd, {{(char)n, (char)(n + 1), (char)(n + 2)}})
RETURNS(by_pointer, hidden, {n, n + 1, n + 2})
RETURNS(long_double, extended, {n + .125L})
RETURNS(unaligned, packed, {(char)n, n * 1000})
RETURNS(nothing, empty, {})
TRACED double complex complex_double(int n) { return n + I * (n + 1); }
TRACED float complex complex_float(int n) { return (float)n - I * (float)n; }
TRACED long double complex complex_extended(int n) { return n + I * (n + .5L); }
TRACED long double plain_extended(int n) { return n + .0625L; }
TRACED __int128 wide(long high, long low) { return ((__int128)high << 64) + low; }
TRACED hidden passed(hidden value, doubles other) { return (hidden){value.c, (long)other.b, value.a}; }

int main(void) {
    for (int n = 0; n < 100; n++) {
        integers i = two_integers(n);
        doubles d = two_doubles(n);
        integer_first f = integer_then_double(n);
        double_first s = double_then_integer(n);
        floats t = three_floats(n);
        odd o = three_bytes(n);
        hidden h = passed(by_pointer(n), d);
        packed p = unaligned(n);
        double complex c = complex_double(n);
        float complex cf = complex_float(n);
        long double complex ce = complex_extended(n);
        __int128 w = wide(n, -n);
        nothing(n);
        printf("%ld %ld %g %g %ld %g %g %ld %g %g %g %d %d %d\n", i.a, i.b, d.a, d.b, f.a, f.b, s.a, s.b, t.a, t.b, t.c,
               o.bytes[0], o.bytes[1], o.bytes[2]);
        printf("%ld %ld %ld %Lg %d %d %g %g %g %g %Lg %Lg %Lg %ld %ld\n", h.a, h.b, h.c, long_double(n).a, p.a, p.b,
               creal(c), cimag(c), crealf(cf), cimagf(cf), creall(ce), cimagl(ce), plain_extended(n), (long)(w >> 64),
               (long)w);
    }
    return 0;
}
