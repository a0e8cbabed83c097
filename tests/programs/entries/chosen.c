/* Calls a function of a library twice; the dynamic linker chooses which implementation, at the first call. */
#include <stdio.h>

int scaled(const int* values, int count);

int main(void) {
    const int values[] = {1, 2, 3, 4, 5, 6, 7, 8};
    int first = scaled(values, 8);
    printf("%d %d\n", first, scaled(values, 4));
    return 0;
}
