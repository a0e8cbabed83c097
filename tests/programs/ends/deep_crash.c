/* Reads from nowhere, as many calls deep as it is told. */
#include <stdlib.h>

volatile int sink;
int* volatile nowhere;

__attribute__((noinline)) int down(int depth) {
    if (depth == 0) return *nowhere;
    int found;
    found = down(depth - 1);
    return found + sink;
}

int main(int argc, char** argv) { return down(argc > 1 ? atoi(argv[1]) : 10); }
