/* A function whose beginning gcc inlines at -O2, and whose rest it splits off: called through a pointer, which runs its
   own copy, and by two functions that go on in the rest. */
#include <stdio.h>
#include <string.h>

static int length;

int summed(const int* values, int count) {
    char text[64];
    int sum = 0;
    if (values == NULL) return 0;
#define ROUND(by)                                 \
    for (int index = 0; index < count; index++) { \
        sum += values[index] * (by);              \
        sprintf(text, "%d ", sum);                \
        length += (int)strlen(text);              \
        if (sum & (by)) sum ^= length;            \
    }
    ROUND(1) ROUND(2) ROUND(3) ROUND(4) ROUND(5) ROUND(6) ROUND(7) ROUND(8) ROUND(9) ROUND(10) return sum;
}

__attribute__((noinline)) static int twice(const int* values, int count) { return 2 * summed(values, count); }
__attribute__((noinline)) static int more(const int* values, int count) { return summed(values, count) + 4; }

int (*volatile by_pointer)(const int*, int) = summed;

int main(int count, char** arguments) {
    const int values[] = {1, 2, 3, 4};
    (void)arguments;
    by_pointer(values, 4);
    twice(values, count);
    more(values, count + 1);
    puts("3 calls");
    return 0;
}
