/* __int128: as arguments in two registers and on the stack, where it is aligned, as results, in structs, after `...`.
 */
#include <stdarg.h>
#include <stdio.h>

#define TRACED __attribute__((noinline))

typedef __int128 wide;
typedef unsigned __int128 uwide;
struct pair {
    wide first, second;
};
struct mixed {
    char tag;
    wide value;
};

static uwide checksum;

static void add(uwide value) { checksum = checksum * 1000003 + value; }

TRACED wide product(wide a, wide b) { return (wide)((uwide)a * (uwide)b); }
TRACED uwide quotient(uwide a, uwide b) { return a / b + a % b; }
TRACED wide behind_one(int a, wide b, int c, wide d, int e) { return a + b * c - d * e; }
/* f lies on the stack: one register is left, which g takes */
TRACED wide beyond_registers(wide a, wide b, int c, wide f, int g, int h, wide i) {
    return a + 2 * b + 3 * c + 4 * f + 5 * g + 6 * h + 7 * i;
}
TRACED struct pair both(wide a, wide b) { return (struct pair){a / b, a % b}; }
TRACED struct mixed inside(struct mixed a, struct pair b) {
    return (struct mixed){(char)(a.tag + 1), a.value ^ b.first ^ b.second};
}
TRACED wide largest(int count, ...) {
    va_list values;
    wide found = 0;
    va_start(values, count);
    for (int i = 0; i < count; i++) {
        wide value = va_arg(values, wide);
        if (value > found) found = value;
    }
    va_end(values);
    return found;
}
TRACED wide power(wide base, int exponent) {
    if (exponent == 0) return 1;
    wide half = power(base, exponent / 2);
    return exponent % 2 ? half * half * base : half * half;
}

int main(void) {
    for (int n = 1; n < 200; n++) {
        wide big = power(n, 9) + 1, odd = ((wide)n << 64) | (unsigned)(n * 2654435761u);
        add((uwide)product(big, -odd));
        add(quotient((uwide)odd << 20, (uwide)big));
        add((uwide)behind_one(n, big, 3, odd, -n));
        add((uwide)beyond_registers(n, big, 5, odd, 7, n, -big));
        struct pair result = both(odd, big);
        struct mixed next = inside((struct mixed){'a', odd}, result);
        add((uwide)(next.value + next.tag + result.first));
        add((uwide)largest(2, big, odd)); /* clang 14 looks for a third one where its callers do not put it */
    }
    printf("%016llx%016llx\n", (unsigned long long)(checksum >> 64), (unsigned long long)checksum);
    return 0;
}
