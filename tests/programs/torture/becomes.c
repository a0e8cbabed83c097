/* Becomes itself again every 40 rounds, by exec from the main thread while another one works. */
#include <pthread.h>

#include "torture.h"

static char* self;
static char** given;
static sigset_t ours; /* SIGUSR1: one that comes between two lives waits for the second one's handler */

static void* work(void* unused) {
    for (long number = 0;; number++) {
        check("thread", recursive(10, number), number + 10);
        wait_a_little(300);
    }
    return unused;
}

static long round_of(long number) {
    if (number % 40 == 39 && number != first_round) {
        char round[32], sum[32];
        char* arguments[] = {self, given[1], given[2], given[3], round, sum, NULL};
        snprintf(round, sizeof round, "%ld", number);
        snprintf(sum, sizeof sum, "%ld", first_sum);
        sigprocmask(SIG_BLOCK, &ours, NULL);
        if (!told && failures == 0) execv(self, arguments);
        sigprocmask(SIG_UNBLOCK, &ours, NULL);
    }
    return recursive(7, 3 * number);
}

int main(int count, char** arguments) {
    pthread_t thread;
    self = arguments[0];
    given = arguments;
    if (count > 5) {
        first_round = atol(arguments[4]);
        first_sum = atol(arguments[5]);
    }
    if (count <= 4) alarm(atoi(arguments[1]) + 1); /* counts on through all lives */
    sigemptyset(&ours);
    sigaddset(&ours, SIGUSR1);
    signal(SIGUSR1, on_told);
    sigprocmask(SIG_BLOCK, &ours, NULL);
    pthread_create(&thread, NULL, work, NULL);
    sigprocmask(SIG_UNBLOCK, &ours, NULL);
    return run_rounds(count, arguments, round_of);
}
