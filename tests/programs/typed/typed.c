/* One of everything that C passes and returns. */
#include "typed.h"

#include <complex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum mode { MODE_OFF, MODE_ONCE, MODE_LOOP };
enum access { READ = 1, WRITE = 2, RUN = 4 };
struct pair {
    int x, y;
};
struct point {
    float x, y;
};
struct point3 {
    float x, y, z;
};
struct mixed {
    double x;
    int y;
};
struct turned {
    long n;
    double d;
};
struct spot {
    double x, y;
};
struct large {
    long a, b;
    double c;
};
struct precise {
    long double x;
};
struct bits {
    unsigned a : 3;
    int b : 5;
    unsigned c : 20;
};
struct nested {
    struct point p;
    enum mode m;
    bool on;
};
union either {
    int i;
    unsigned short low;
};
typedef unsigned __int128 wide;

APART int t_integers(bool b, char c, signed char s, unsigned char u, short h, int i) {
    say("> t_integers(b=%s, c='%c', s=%d, u=%u, h=%d, i=%d)", b ? "true" : "false", c, s, u, h, i);
    return -i;
}
APART unsigned char t_byte(long l, unsigned long u, unsigned n) {
    say("> t_byte(l=%ld, u=%lu, n=%u)", l, u, n);
    return (unsigned char)n;
}
APART bool t_bool(int i) {
    say("> t_bool(i=%d)", i);
    return i > 0;
}
APART char t_char(char c) {
    say("> t_char(c='%c')", c);
    return (char)(c + 1);
}
APART enum mode t_mode(enum mode m) {
    static const char* names[] = {"MODE_OFF(0)", "MODE_ONCE(1)", "MODE_LOOP(2)"};
    say("> t_mode(m=%s)", names[m]);
    return MODE_ONCE;
}
APART enum access t_access(enum access a) {
    say("> t_access(a=%s)", a == 3 ? "READ|WRITE(3)" : a == 4 ? "RUN(4)" : a == 0 ? "0" : "8");
    return a | RUN;
}
APART float t_float(float f, int n, double d) {
    say("> t_float(f=%.1f, n=%d, d=%.2f)", f, n, d);
    return f + 0.5f;
}
APART double t_double(int n, double d) {
    say("> t_double(n=%d, d=%.3f)", n, d);
    return -d;
}
APART float t_tenth(float f) {
    say("> t_tenth(f=%.1f)", f);
    return 0.1f;
}
APART long double t_long_double(long double x, int n) {
    say("> t_long_double(x=%.1Lf, n=%d)", x, n);
    return x;
}
APART __int128 t_wide(__int128 n, wide u) {
    say("> t_wide(n=%ld, u=%lu)", (long)n, (unsigned long)u);
    return -n;
}
APART float complex t_complex(float complex f, double complex d) {
    say("> t_complex(f={re=%.1f, im=%.1f}, d={re=%.1f, im=%.1f})", crealf(f), cimagf(f), creal(d), cimag(d));
    return f;
}
APART double complex t_conjugate(double complex d) {
    say("> t_conjugate(d={re=%.1f, im=%.1f})", creal(d), cimag(d));
    return conj(d);
}
APART struct pair t_pair(struct pair p) {
    say("> t_pair(p={x=%d, y=%d})", p.x, p.y);
    return (struct pair){p.y, p.x};
}
APART struct point t_point(struct point p) {
    say("> t_point(p={x=%.1f, y=%.1f})", p.x, p.y);
    return (struct point){p.y, p.x};
}
APART struct point3 t_point3(struct point3 p) {
    say("> t_point3(p={x=%.1f, y=%.1f, z=%.1f})", p.x, p.y, p.z);
    return (struct point3){p.z, p.y, p.x};
}
APART struct mixed t_mixed(int n, struct mixed m) {
    say("> t_mixed(n=%d, m={x=%.1f, y=%d})", n, m.x, m.y);
    return (struct mixed){-m.x, m.y + n};
}
APART struct turned t_turned(double d, struct turned t) {
    say("> t_turned(d=%.1f, t={n=%ld, d=%.1f})", d, t.n, t.d);
    return (struct turned){-t.n, d};
}
APART struct spot t_spot(struct spot s) {
    say("> t_spot(s={x=%.1f, y=%.1f})", s.x, s.y);
    return (struct spot){s.y, s.x};
}
APART struct large t_large(int n, struct large l) {
    say("> t_large(n=%d, l={a=%ld, b=%ld, c=%.1f})", n, l.a, l.b, l.c);
    return (struct large){l.b, l.a, -l.c};
}
APART int t_precise(int n, struct precise p, int m) {
    say("> t_precise(n=%d, p={x=%.1Lf}, m=%d)", n, p.x, m);
    return n;
}
APART struct bits t_bits(struct bits b) {
    say("> t_bits(b={a=%d, b=%d, c=%d})", b.a, b.b, b.c);
    return (struct bits){b.a + 1, b.b - 1, b.c};
}
APART struct nested t_nested(struct nested n) {
    say("> t_nested(n={p={x=%.1f, y=%.1f}, m=MODE_LOOP(2), on=%s})", n.p.x, n.p.y, n.on ? "true" : "false");
    return (struct nested){n.p, n.m, !n.on};
}
APART int t_union(union either e, int n) {
    say("> t_union(e={i=%d, low=%d}, n=%d)", e.i, e.low, n);
    return e.i;
}
APART void* t_pointers(int* p, void* v, const unsigned char* u) {
    say("> t_pointers(p=%p, v=%p, u=%p)", (void*)p, v, (const void*)u);
    return v;
}
APART const char* t_text(const char* s, const char* none) {
    say("> t_text(s=\"%s\", none=0x0)", s);
    return none ? none : "back";
}
APART char* t_buffer(char* s, size_t n) {
    say("> t_buffer(s=\"%s\", n=%lu)", s, (unsigned long)n);
    strcpy(s, "new");
    return s;
}
APART double t_twenty(int a, double b, int c, double d, int e, double f, int g, double h, int i, double j, int k,
                      double l, int m, double n, int o, double p, int q, double r, int s, double t) {
    say("> t_twenty(a=%d, b=%.1f, c=%d, d=%.1f, e=%d, f=%.1f, g=%d, h=%.1f, i=%d, j=%.1f, k=%d, l=%.1f, m=%d, n=%.1f, "
        "o=%d, p=%.1f, q=%d, r=%.1f, s=%d, t=%.1f)",
        a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t);
    return t;
}
APART long t_stack(long a, long b, long c, long d, long e, long f, char g, long double h, float i, struct pair j,
                   long k) {
    say("> t_stack(a=%ld, b=%ld, c=%ld, d=%ld, e=%ld, f=%ld, g='%c', h=%.1Lf, i=%.1f, j={x=%d, y=%d}, k=%ld)", a, b, c,
        d, e, f, g, h, i, j.x, j.y, k);
    return k;
}
APART double t_many_texts(const char* a, const char* b, const char* c, const char* d, const char* e, const char* f,
                          double g, const char* h) {
    say("> t_many_texts(a=\"%s\", b=\"%s\", c=\"%s\", d=\"%s\", e=\"%s\", f=\"%s\", g=%.1f, h=\"%s\")", a, b, c, d, e,
        f, g, h);
    return f && h ? g : 0;
}
APART int t_variadic(double d, int n, ...) {
    say("> t_variadic(d=%.1f, n=%d)", d, n);
    return n;
}
APART long t_factorial(long n) {
    say("> t_factorial(n=%ld)", n);
    long result = n < 2 ? 1 : n * t_factorial(n - 1);
    if (n > 1) say("< t_factorial = %ld", result / n);
    return result;
}

static void numbers(int one) {
    say("< t_integers = %d",
        t_integers(one, 'a', (signed char)-one, (unsigned char)(199 + one), (short)-300, 70000 * one));
    say("< t_byte = %d", t_byte(-5L * one, ~0UL, 300u));
    say("< t_bool = %s", t_bool(one) ? "true" : "false");
    say("< t_bool = %s", t_bool(-one) ? "true" : "false");
    say("< t_char = '%c'", t_char('x'));
    t_mode(MODE_LOOP);
    say("< t_mode = MODE_ONCE(1)");
    t_access(READ | WRITE);
    say("< t_access = READ|WRITE|RUN(7)");
    t_access((enum access)8);
    say("< t_access = 12");
    say("< t_float = %.1f", t_float(440.0f * (float)one, 3, -0.25));
    say("< t_double = %.3f", t_double(4, 0.125));
    say("< t_tenth = %.1f", t_tenth(0.1f));
    say("< t_long_double = %.1Lf", t_long_double(1.5L, one));
    say("< t_wide = %ld", (long)t_wide(5 - 6 * one, 7));
    float complex f = t_complex(1.0f + 2.0f * I, 3.0 - 4.0 * I);
    say("< t_complex = {re=%.1f, im=%.1f}", crealf(f), cimagf(f));
    double complex d = t_conjugate(1.5 + 2.5 * I);
    say("< t_conjugate = {re=%.1f, im=%.1f}", creal(d), cimag(d));
}

static void structs(int one) {
    struct pair pair = t_pair((struct pair){one, -2});
    say("< t_pair = {x=%d, y=%d}", pair.x, pair.y);
    struct point point = t_point((struct point){1.5f, 2.5f});
    say("< t_point = {x=%.1f, y=%.1f}", point.x, point.y);
    struct point3 point3 = t_point3((struct point3){1.5f, 2.5f, -3.5f});
    say("< t_point3 = {x=%.1f, y=%.1f, z=%.1f}", point3.x, point3.y, point3.z);
    struct mixed mixed = t_mixed(one, (struct mixed){0.5, 7});
    say("< t_mixed = {x=%.1f, y=%d}", mixed.x, mixed.y);
    struct turned turned = t_turned(0.5, (struct turned){one, -1.5});
    say("< t_turned = {n=%ld, d=%.1f}", turned.n, turned.d);
    struct spot spot = t_spot((struct spot){1.0, -1.0});
    say("< t_spot = {x=%.1f, y=%.1f}", spot.x, spot.y);
    struct large large = t_large(9, (struct large){one, 2, 3.5});
    say("< t_large = {a=%ld, b=%ld, c=%.1f}", large.a, large.b, large.c);
    say("< t_precise = %d", t_precise(5, (struct precise){-0.5L}, 6));
    struct bits bits = t_bits((struct bits){5, -3, 1000});
    say("< t_bits = {a=%d, b=%d, c=%d}", bits.a, bits.b, bits.c);
    struct nested nested = t_nested((struct nested){{1.0f, 2.0f}, MODE_LOOP, one > 0});
    say("< t_nested = {p={x=1.0, y=2.0}, m=MODE_LOOP(2), on=%s}", nested.on ? "true" : "false");
    say("< t_union = %d", t_union((union either){3}, 4));
}

static void texts(int one) {
    char buffer[16] = "old";
    say("< t_pointers = %p", t_pointers(&one, buffer, (unsigned char*)buffer));
    say("< t_text = \"%s\"", t_text("lead", NULL));
    say("< t_buffer = \"%s\"", t_buffer(buffer, sizeof buffer));
    say("< t_many_texts = %.1f", t_many_texts("a", "b", "c", "d", "e", "f", 0.5, "h"));
}

int main(int argc, char** argv) {
    (void)argv;
    numbers(argc);
    structs(argc);
    texts(argc);
    say("< t_twenty = %.1f", t_twenty(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20));
    say("< t_stack = %ld", t_stack(1, 2, 3, 4, 5, 6, 'g', 8.5L, 9.5f, (struct pair){10, 11}, 12));
    say("< t_variadic = %d", t_variadic(2.5, argc, "and", "more"));
    say("< t_factorial = %ld", t_factorial(5));
    return 0;
}
