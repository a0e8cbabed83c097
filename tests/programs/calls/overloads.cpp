/* Two functions of one name, in two files; only the one of the header is called. */
#include "overloads.h"

__attribute__((noinline, used)) int convert(int value) {
    __asm__ volatile("" : "+r"(value));
    return value * 3 + 1000;
}

int main() { return convert(1.0) == 2.0 ? 0 : 1; }
