/* Becomes itself again at SIGUSR1, at other addresses: the first time as generation 2, then 3, then it ends with 3.
 * `execs_itself sleep` becomes /bin/sleep instead. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "told.h"

int gGeneration = 1;
char gPadding[64];

int main(int argc, char** argv) {
    sigset_t none;
    gGeneration = argc;
    run_until_told();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    printf("ready %d\n", gGeneration);
    fflush(stdout);
    while (!told) usleep(1000);
    if (argc >= 3) return 3;
    if (argc == 2 && !strcmp(argv[1], "sleep")) execl("/bin/sleep", "sleep", "100", NULL);
    execl("/proc/self/exe", argv[0], "again", argc == 2 ? "again" : NULL, NULL);
    return 1;
}
