// With second.c: two static functions of one name.
#include <stdio.h>

int second_entry(int x);

static int helper(int x) { return x + 1; }

int main(void) {
    printf("%d\n", helper(1) + second_entry(2));
    return 0;
}
