/* `inherits`: what it has from whoever has started it: signals that are ignored, and the numbers of its first two
 * descriptors. `inherits size`: a file grows beyond its limit, which ends the program by SIGXFSZ. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

__attribute__((noinline)) int is_ignored(int number) {
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int main(int argc, char** argv) {
    if (argc > 1 && !strcmp(argv[1], "size")) {
        const struct rlimit none = {1, 1};
        const int file = memfd_create("file", 0);
        setrlimit(RLIMIT_FSIZE, &none);
        if (write(file, "12", 2) != 1) return 2;
        return (int)write(file, "3", 1) + 5;
    }
    for (int number = 1; number < SIGRTMIN; number++)
        if (number != SIGKILL && number != SIGSTOP && is_ignored(number)) printf("ignored %d\n", number);
    const int first = open("/dev/null", O_RDONLY);
    printf("descriptors %d %d\n", first, open("/dev/null", O_RDONLY));
    return 0;
}
