/* Says "ready" and calls stay() again and again, until it is ended. stays HOW:
   ignores   SIGTERM, SIGINT and SIGHUP
   blocks    all signals
   stopped   by SIGSTOP, sent from outside
   children  ignores them too, and has children that hold its streams
   term      ends with status 7 at SIGTERM */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ended;

static void end(int number) {
    (void)number;
    ended = 1;
}

__attribute__((noinline)) void stay(void) {
    const struct timespec moment = {0, 10000000};
    nanosleep(&moment, NULL);
}

int main(int argc, char** argv) {
    const char* how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "ignores") == 0 || strcmp(how, "children") == 0) {
        signal(SIGTERM, SIG_IGN);
        signal(SIGINT, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
    }
    if (strcmp(how, "blocks") == 0) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
    }
    if (strcmp(how, "children") == 0) {
        for (int child = 0; child < 3; child++) {
            if (fork() == 0) {
                const pid_t parent = getppid();
                while (getppid() == parent) {
                    stay();
                }
                _exit(0);
            }
        }
    }
    if (strcmp(how, "term") == 0) {
        signal(SIGTERM, end);
    }
    puts("ready");
    fflush(stdout);
    while (!ended) {
        stay();
    }
    return 7;
}
