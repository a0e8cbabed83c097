/* 0 to 10 arguments, every width and sign, pointers, an enum, doubles between integers, structures by value. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TRACED __attribute__((noinline))

enum colour { RED, GREEN = 5, BLUE };
struct pair {
    long first, second;
};
struct big {
    long words[5];
};

TRACED int none(void) { return 42; }
TRACED int8_t narrow(int8_t a, uint8_t b, int16_t c, uint16_t d) { return (int8_t)(a + b + c + d); }
TRACED unsigned wide(int32_t a, uint32_t b, int64_t c, uint64_t d) { return (unsigned)(a + b + (uint64_t)c + d); }
TRACED bool truth(bool yes, char letter) { return yes && letter == 'x'; }
TRACED enum colour mix(enum colour a, enum colour b) { return a == b ? a : BLUE; }
TRACED const char* text(const char* value, const void* null) { return null ? NULL : value; }
TRACED double scale(int a, double factor, int b) { return (a + b) * factor; }
TRACED struct pair swap(struct pair value) { return (struct pair){value.second, value.first}; }
TRACED long total(struct big value, int scale_by) { return (value.words[0] + value.words[4]) * scale_by; }
TRACED long ten(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j) {
    return a + 2L * b + 3L * c + 4L * d + 5L * e + 6L * f + 7L * g + 8L * h + 9L * i + 10L * j;
}

int main(void) {
    struct pair swapped = swap((struct pair){1, 2});
    printf("%d %d %u %d %d\n", none(), narrow(-1, 200, -300, 60000), wide(-1, 4000000000u, -5000000000, 1),
           truth(true, 'x'), mix(RED, GREEN));
    printf("%s %d %g %ld %ld\n", text("hello", NULL), text("hello", "x") == NULL, scale(1, 2.5, 3), swapped.first,
           swapped.second);
    printf("%ld %ld\n", total((struct big){{1, 2, 3, 4, 5}}, 10), ten(1, -2, 3, -4, 5, -6, 7, -8, 9, -10));
    return 0;
}
