/* Threads set up a filter of system calls for all threads, all at the same moment, and others call a function for the
   first time then. It forbids what those of a recorder do, and none of the agent's. Prints "right". */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILTERING 4
#define CALLING 4
#define CALLS 100

static int ready, begun, done;

static void arrive(int* count) { __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST); }

static void await(int* count, int all) {
    while (__atomic_load_n(count, __ATOMIC_SEQ_CST) < all) continue;
}

__attribute__((noinline)) long take(long number) {
    __asm__ volatile("" ::: "memory");
    return number + 1;
}

static void filter_all(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    /* fails where another thread was first */
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

static void* work(void* filters) {
    arrive(&ready);
    await(&begun, 1);
    if (filters != NULL) filter_all();
    for (int call = 0; call < CALLS; call++) take(call);
    arrive(&done);
    await(&done, FILTERING + CALLING + 1); /* for ever: its end would need more */
    return filters;
}

int main(void) {
    pthread_t thread;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (int i = 0; i < FILTERING + CALLING; i++) pthread_create(&thread, NULL, work, i < FILTERING ? &begun : NULL);
    await(&ready, FILTERING + CALLING);
    arrive(&begun);
    await(&done, FILTERING + CALLING);
    if (write(1, "right\n", 6) != 6) return 1;
    _exit(0);
}
