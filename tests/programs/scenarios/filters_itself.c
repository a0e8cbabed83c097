/* Sets a filter of system calls, which allows all, by a system call of its own, past the C library. "ready", then it
   calls work() until it is told to end. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "told.h"

__attribute__((noinline)) int work(int number) {
    __asm__ volatile("" : "+r"(number));
    return number + 1;
}

static long call_kernel(long number, long first, long second, const void* third) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}

int main(void) {
    const struct timespec pause = {0, 1000000};
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, all};
    run_until_told();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (call_kernel(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) return 1;
    puts("ready");
    fflush(stdout);
    while (!told) {
        work(1);
        nanosleep(&pause, NULL);
    }
    return 0;
}
