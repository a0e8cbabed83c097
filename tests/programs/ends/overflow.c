/* Writes one byte behind an allocation: AddressSanitizer's to find. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) void write_behind(char* block, size_t bytes) { memset(block, 'x', bytes); }

int main(void) {
    char* block = malloc(16);
    volatile size_t bytes = 17;
    puts("before");
    fflush(stdout);
    write_behind(block, bytes);
    free(block);
    return 0;
}
