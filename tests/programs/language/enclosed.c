/* `rarely` is called by one call of `often`, after so many that these are sampled. `enclosed twice`: and by
 * one of the first of these. `enclosed deep`: a recursion that is
 * deeper than returns are caught, with its own result at the bottom. */
#include <stdio.h>
#include <string.h>

enum { kCalls = 150000, kRare = 75001, kBottom = 777 };
static volatile int sink, early = -1;

__attribute__((noinline)) int rarely(int value) {
    sink += value;
    return value * 31 + sink;
}
__attribute__((noinline)) int often(int value) {
    sink += value;
    if (value == kRare || value == early) return rarely(value) + 1;
    return value * 33 + sink;
}
__attribute__((noinline)) int deep(int depth) {
    sink += depth;
    if (depth == 0) return kBottom;
    sink += deep(depth - 1);
    return depth;
}

int main(int count, char** arguments) {
    int sum = 0;
    if (count > 1 && !strcmp(arguments[1], "deep")) return deep(4000) != 4000;
    if (count > 1 && !strcmp(arguments[1], "twice")) early = 5;
    for (int value = 0; value < kCalls; value++) sum += often(value) & 1;
    puts(sum > 0 ? "called" : "");
    return 0;
}
