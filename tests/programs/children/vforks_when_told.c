/* Waits in vfork, which no request to stop interrupts, until the child has read a byte; then for ever. */
#include <stdio.h>
#include <unistd.h>

int main(void) {
    char byte;
    puts("ready");
    fflush(stdout);
    if (vfork() == 0) _exit(read(0, &byte, 1) != 1);
    for (;;) pause();
}
