/* Functions with any number of arguments: integers, doubles (counted in al), structures; lists passed on and copied. */
#include <stdarg.h>
#include <stdio.h>

#define TRACED __attribute__((noinline))

struct point {
    double x;
    long y;
};
struct large {
    long words[4];
};

TRACED double mixed(int count, ...) {
    va_list list;
    double total = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++) total += i % 2 ? va_arg(list, double) : va_arg(list, int);
    va_end(list);
    return total;
}
TRACED double of_list(int count, va_list list) {
    va_list again;
    double total = 0;
    va_copy(again, list);
    for (int i = 0; i < count; i++) total += va_arg(list, double);
    for (int i = 0; i < count; i++) total -= va_arg(again, double) / 2;
    va_end(again);
    return total;
}
TRACED double passes_on(int count, ...) {
    va_list list;
    va_start(list, count);
    double total = of_list(count, list);
    va_end(list);
    return total;
}
TRACED long structures(int count, ...) {
    va_list list;
    long total = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++) {
        struct point point = va_arg(list, struct point);
        struct large large = va_arg(list, struct large);
        total += (long)point.x + point.y + large.words[3];
    }
    va_end(list);
    return total;
}
TRACED __attribute__((format(printf, 1, 2))) int print(const char* format, ...) {
    va_list list;
    va_start(list, format);
    int written = vprintf(format, list);
    va_end(list);
    return written;
}

int main(void) {
    struct point point = {2.5, 7};
    struct large large = {{1, 2, 3, 4}};
    double (*through)(int, ...) = passes_on;
    for (int i = 0; i < 20; i++) {
        print("%g\n", mixed(0));
        print("%g\n", mixed(12, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5));
        print("%g\n", mixed(20, 1, .5, 2, .5, 3, .5, 4, .5, 5, .5, 6, .5, 7, .5, 8, .5, 9, .5, 10, .5));
        print("%g %g\n", passes_on(3, 1.0, 2.0, i * 1.0), through(10, 1., 2., 3., 4., 5., 6., 7., 8., 9., 10.));
        print("%ld %s %c %Lf\n", structures(3, point, large, point, large, point, large), "text", 'x', 1.25L);
    }
    return 0;
}
