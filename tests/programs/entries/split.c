/* `work` has a seldom executed part, which compilers put elsewhere; `rare` is what it calls there. */
#include <stdio.h>

static int sum;

__attribute__((cold, noinline)) int rare(int value) { return printf("rare %d\n", value); }

__attribute__((noinline)) int work(int value) {
    if (value % 1000 == 999) {
        sum += rare(value);
        sum *= 3;
        rare(sum & 0xff);
    }
    sum += value;
    return sum ^ value;
}

int main(int count, char** arguments) {
    int last = 0;
    (void)arguments;
    for (int number = 0; number < 3000; number++) last ^= work(number + count);
    printf("%d\n", last);
    return 0;
}
