/* Says that a function was called which is called only where it was inlined; it has a copy that others could call. */
#include <stdio.h>

static int calls;

int copied(int value) {
    calls += value;
    return calls;
}

int main(int count, char** arguments) {
    (void)arguments;
    return printf("copied %d\n", copied(count + 6)) < 0;
}
