// Functions that a compiler gives one code, and one that a linker may fold; each says what it is given.
#include <cstdio>

#define CODE __asm__ volatile("nop; nop; nop; nop; nop; nop")

__attribute__((noinline)) static int first(int one) {
    CODE;
    return one * 7 + 1;
}

__attribute__((noinline)) static int second(int two) {
    CODE;
    return two * 7 + 1;
}

struct Made {
    int value;
    __attribute__((noinline)) explicit Made(int from) : value(from) { CODE; }
};

int main(int count, char**) {
    std::printf("%d %d %d\n", first(count), second(count + 1), Made(count).value);
    return 0;
}
