/* Filters its system calls, has more threads at once than the recorder got ready for, and then, when these have ended,
 * and a while after (the recorder does not look at each call for what threads have left), others one by one. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MANY 300
#define LATER 50

static pthread_barrier_t together;

__attribute__((noinline)) long early(long value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

__attribute__((noinline)) long late(long value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

static void* run_early(void* value) {
    void* result = (void*)early((long)value);
    pthread_barrier_wait(&together);
    return result;
}

static void* run_late(void* value) { return (void*)late((long)value); }

static int allow_all_but_one(void) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(void) {
    pthread_t threads[MANY];
    if (allow_all_but_one()) return 1;
    pthread_barrier_init(&together, NULL, MANY);
    for (long i = 0; i < MANY; i++)
        if (pthread_create(&threads[i], NULL, run_early, (void*)i)) return 2;
    for (int i = 0; i < MANY; i++) pthread_join(threads[i], NULL);
    sleep(1);
    for (long i = 0; i < LATER; i++) {
        if (pthread_create(&threads[0], NULL, run_late, (void*)i)) return 2;
        pthread_join(threads[0], NULL);
    }
    puts("done");
    return 0;
}
