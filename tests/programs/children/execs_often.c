/* After SIGUSR1 it becomes itself again 400 times, and then until another one comes, each time at other addresses. Its
 * variable is the same in all. */
#include <stdio.h>

#include "told.h"

int gMark = 70707;
char gPadding[64];

int main(int argc, char** argv) {
    char number[16];
    const int round = argc > 1 ? atoi(argv[1]) : 0;
    if (round == 0) {
        run_until_told();
        puts("ready");
        fflush(stdout);
        while (!told) usleep(1000);
        sigset_t again; /* kept by exec, and whether it has come */
        sigemptyset(&again);
        sigaddset(&again, SIGUSR1);
        sigprocmask(SIG_BLOCK, &again, NULL);
    }
    usleep(2000);
    sigset_t pending;
    sigpending(&pending);
    if (round >= 400 && sigismember(&pending, SIGUSR1)) return gMark == 70707 ? 3 : 4;
    snprintf(number, sizeof number, "%d", round + 1);
    execl("/proc/self/exe", argv[0], number, NULL);
    return 1;
}
