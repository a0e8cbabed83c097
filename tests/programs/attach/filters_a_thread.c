/* One thread, not the main one, lets the kernel filter its system calls; "ready", then it calls work() until it is told
 * to end. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#include "told.h"

static volatile int is_ready;

__attribute__((noinline)) int work(int number) { return number + 1; }

static void* filtered(void* unused) {
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, all};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    is_ready = 1;
    while (!told) {
        const struct timespec pause = {0, 1000000};
        work(1);
        nanosleep(&pause, NULL);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    run_until_told();
    pthread_create(&thread, NULL, filtered, NULL);
    while (!is_ready) continue;
    puts("ready");
    fflush(stdout);
    pthread_join(thread, NULL);
    return 0;
}
