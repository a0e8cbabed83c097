/* Who has called, and where a probe is: leaf() is called by first() and by second(), the latter twice as often, each of
 * which has frames of other sizes. Prints its process id.
 */
#include <stdio.h>
#include <unistd.h>

#ifdef __clang__
#define TRACED __attribute__((noinline))
#else
#define TRACED __attribute__((noipa))
#endif

static volatile int total;

TRACED int leaf(int number) {
    int twice = number * 2;
    total += twice; /* at this line */
    total -= number;
    return twice;
}

TRACED int first(int number) {
    volatile int large[100];
    large[number] = leaf(number);
    return large[number] + 1;
}

TRACED int second(int number) { return leaf(number) + leaf(number + 1); }

int main(void) {
    int sum = 0;
    for (int i = 0; i < 50; i++) sum += first(i) + second(i);
    printf("%d %d\n", (int)getpid(), sum);
    return 0;
}
