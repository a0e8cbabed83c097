// `waits_blocked WAY [SECONDS]` goes through a line for two seconds with SIGTRAP blocked, each way behind its name;
// "unblocked": without. "until told": also without, until SIGUSR1 comes.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static sigset_t all, none;
static volatile int sum;
static int seconds = 2;
static volatile sig_atomic_t is_told;

__attribute__((noinline)) static int step(int n) {
    int value = n;
    value++;  // short
    return value;
}

static void handled(int number) { sum += step(number); }

static void told(int number) { is_told = number; }

static void pauses(void) { usleep(10000); }

// Waits with a mask that is not the one it comes back to.
static void suspends(void) {
    alarm(seconds);
    sigsuspend(&none);
}

static void polls(void) {
    const struct timespec soon = {seconds, 0};
    ppoll(NULL, 0, &soon, &none);
}

static void waits(void) {
    const struct timespec soon = {seconds, 0};
    sigset_t most = all;
    sigdelset(&most, SIGALRM);
    while (sigtimedwait(&most, NULL, &soon) < 0 && errno == EINTR) {
    }
}

int main(int argc, char** argv) {
    if (argc > 2) seconds = atoi(argv[2]);
    const struct {
        const char* name;
        void (*wait)(void);
        int rounds;
    } ways[] = {{"blocked", pauses, 100 * seconds},
                {"unblocked", pauses, 100 * seconds},
                {"suspends", suspends, 2},
                {"polls", polls, 2},
                {"waits", waits, 2}};
    sigfillset(&all);
    sigemptyset(&none);
    signal(SIGALRM, handled);
    if (argc > 1 && strcmp(argv[1], "until told") == 0) {
        signal(SIGUSR1, told);
        puts("ready");
        fflush(stdout);
        for (int i = 0; !is_told; i++) {
            pauses();
            step(i);
        }
        puts("told");
        return 0;
    }
    for (unsigned way = 0; way < sizeof ways / sizeof *ways; way++) {
        if (argc < 2 || strcmp(argv[1], ways[way].name) != 0) continue;
        if (strcmp(argv[1], "unblocked") != 0) sigprocmask(SIG_BLOCK, &all, NULL);
        puts("ready");
        fflush(stdout);
        for (int i = 0; i < ways[way].rounds; i++) {
            ways[way].wait();
            sum += step(i);
        }
    }
    printf("%d\n", sum);
}
