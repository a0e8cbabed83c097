/* A filter of system calls for all threads (TSYNC) comes while others call a function with a text, with SIGSEGV
   blocked, so that a recorder has the kernel read it. The filter forbids that. Prints "right". */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLING 24

static int begun, is_filtered, done;

__attribute__((noinline)) int take(const char* text) {
    __asm__ volatile("nop; nop; nop; nop; nop" ::"r"(text) : "memory");
    return text[0];
}

static void* work(void* unused) {
    char* text = strdup("some text");
    int calls = 0;
    __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&is_filtered, __ATOMIC_SEQ_CST)) take(text);
    while (calls++ < 100) take(text);
    __atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
    for (;;) usleep(1000); /* its end would need more */
    return unused;
}

static int filter_all(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

int main(void) {
    pthread_t thread;
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    pthread_sigmask(SIG_BLOCK, &faults, NULL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (int i = 0; i < CALLING; i++) pthread_create(&thread, NULL, work, NULL);
    while (__atomic_load_n(&begun, __ATOMIC_SEQ_CST) < CALLING) usleep(1000);
    usleep(20000);
    if (!filter_all()) return 1;
    __atomic_store_n(&is_filtered, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < CALLING) usleep(1000);
    if (write(1, "right\n", 6) != 6) return 1;
    _exit(0);
}
