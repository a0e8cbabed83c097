/* A function of its own, inlined wherever it is called, with the name of one of the C library. */
#include <stdio.h>

static volatile int warned;

static inline __attribute__((always_inline)) int warn(int code) {
    warned = warned + code;
    return warned;
}

int main(int count, char** arguments) {
    (void)arguments;
    printf("%d\n", warn(count) + warn(2));
    return 0;
}
