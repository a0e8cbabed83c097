/* The kernel ends its main thread alone, for a system call: by a filter ("filter"), or in strict mode ("strict"). It
   has no other thread. "handles": the same with a handler for the signal that a filter sends. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline)) long take(long number) {
    __asm__ volatile("" ::: "memory");
    return number + 1;
}

static void on_signal(int number) { _exit(number); }

int main(int count, char** words) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    if (count < 2) return 2;
    if (strcmp(words[1], "handles") == 0) signal(SIGSYS, on_signal);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (strcmp(words[1], "strict") == 0)
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    else
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    take(1);
    syscall(SYS_getppid);
    return 3;
}
