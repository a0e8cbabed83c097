// `small` has no copy of its own and three sites; `shared` has sites and a copy; `never` is called as it is.
#include <stdio.h>

static inline __attribute__((always_inline)) int small(int x) { return x * 3; }

__attribute__((noinline)) int never(int x) { return small(x) + 1; }

inline __attribute__((always_inline)) int shared(int x) { return x - 1; }
extern int shared(int x);

int (*volatile pointer)(int) = shared;

int main(int count, char** arguments) {
    (void)arguments;
    printf("%d\n", small(count) + small(count + 1) + never(count) + shared(count) + pointer(count));
    return 0;
}
