/* Calls a function of which nothing is left where it was inlined. Both have a copy that others could call. */
#include <stdio.h>
#include <stdlib.h>

static int calls;

void checked(int value) {
    if (value > 1000) abort();
}

int spared(int value) {
    calls += value;
    return calls * value;
}

void (*volatile use_checked)(int);
int (*volatile use_spared)(int);

int main(int count, char** arguments) {
    (void)arguments;
    if (count > 5) {
        use_checked = checked;
        use_spared = spared;
    }
    checked(5);
    puts("checked 5");
    return 0;
}
