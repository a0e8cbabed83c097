/* Passes the address of a structure that is too large to be recorded with each call. */
#include <stdio.h>

struct large {
    int first;
    int many[2000];
};

__attribute__((noinline)) int weigh(struct large* large) { return large->first + large->many[1999]; }

int main(void) {
    static struct large large = {1, {2}};
    printf("%d\n", weigh(&large));
    return 0;
}
