/* Much output: `output MEGABYTES` writes every byte value; `output lines N` alternates the two streams; the last line
 * has no newline. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) void write_megabyte(void) {
    static unsigned char block[1 << 20];
    for (size_t i = 0; i < sizeof block; i++) block[i] = (unsigned char)(i * 7 + (i >> 8));
    fwrite(block, 1, sizeof block, stdout);
}

__attribute__((noinline)) void write_lines(int count) {
    for (int line = 0; line < count; line++) {
        printf("out %d\n", line);
        fflush(stdout);
        fprintf(stderr, "err %d\n", line);
    }
}

int main(int argc, char** argv) {
    if (argc > 2 && !strcmp(argv[1], "lines")) {
        write_lines(atoi(argv[2]));
    } else {
        for (int left = argc > 1 ? atoi(argv[1]) : 1; left > 0; left--) write_megabyte();
    }
    fputs("the end", stdout);
    return 0;
}
