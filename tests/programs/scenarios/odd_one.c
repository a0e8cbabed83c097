/* A thousand calls, one of which is unlike the others. */
#include <stdio.h>

struct account {
    long cents;
};

__attribute__((noinline)) int add(struct account* to, int cents) {
    to->cents += cents;
    return cents > 0;
}

int main(void) {
    struct account account = {0};
    for (int i = 0; i < 1000; i++) add(&account, i == 700 ? -300 : 5);
    printf("%ld\n", account.cents);
    return 0;
}
