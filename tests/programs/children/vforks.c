/* Waits for a child of vfork, which waits for the end of standard input. */
#include <unistd.h>

int main(void) {
    char byte;
    if (vfork() == 0) {
        while (read(0, &byte, 1) == 1);
        if (write(1, "child\n", 6) != 6) _exit(1);
        _exit(0);
    }
    return write(1, "bye\n", 4) != 4;
}
