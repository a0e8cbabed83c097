// At -O2 gcc makes clones of both: one without the argument that is always the same, one with a part cut out.
#include <stdio.h>
#include <stdlib.h>

struct pair {
    long first, second;
};

static __attribute__((noinline)) long scaled(long value, long factor, struct pair* box) {
    return value * factor + box->second;
}

static __attribute__((noinline)) long steady(long value, long other) { return value ^ other; }

int main(int count, char** arguments) {
    (void)arguments;
    struct pair box = {1, count};
    printf("%ld\n", scaled(count, 7, &box) + scaled(count + 1, 7, &box) + steady(count, count + 2));
    return 0;
}
