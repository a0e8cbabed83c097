/* Two functions with the same code that other files may call: gcc leaves of the second one a jump to the first, and
 * calls the first in its place. */
#include <stdio.h>

#define ADD_UP(to, sum)                 \
    for (int i = 0; i < (to); i++) {    \
        (sum) += (i * 3 + 1) ^ (to);    \
        printf("a%d ", sum);            \
        if ((sum) % 77 == 0) puts("b"); \
        if ((sum) % 5 == 0) puts("c");  \
        if ((sum) % 3 == 0) puts("d");  \
    }

int first(int to) {
    int sum = 0;
    ADD_UP(to, sum)
    return sum;
}

int second(int to) {
    int sum = 0;
    ADD_UP(to, sum)
    return sum;
}

int main(int count, char** arguments) {
    (void)arguments;
    return first(count) + second(count + 1) + second(count + 2) < 0;
}
