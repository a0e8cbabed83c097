/* Signals are blocked, so that the recorder has memory read by the kernel. Then "asks": what filters of system calls
   there are, which changes nothing; "sets": one that allows all; "refused": one without instructions; "vfork": a
   child of vfork sets one that allows it to end alone, calls functions, and ends with status 3, and the program by
   SIGKILL. Prints "right". */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int asks(void) {
    unsigned action = SECCOMP_RET_ALLOW;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0 && prctl(PR_GET_SECCOMP) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == -1 && errno == EFAULT &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1 && errno == EFAULT;
}

static int sets(unsigned otherwise) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, otherwise),
    };
    struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

static int refused(void) {
    struct sock_fprog none = {0, NULL};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none) == -1 && errno == EINVAL;
}

__attribute__((noinline)) long take(const char* text) {
    __asm__ volatile("" ::"r"(text) : "memory");
    return text[0];
}

__attribute__((noinline)) int never(void) {
    __asm__ volatile("nop; nop; nop; nop; nop");
    return 1;
}

static int vforks(void) {
    int status = 0;
    pid_t child = vfork();
    if (child == 0) {
        if (!sets(SECCOMP_RET_KILL_PROCESS)) _exit(1);
        for (int call = 0; call < 100; call++) take("in the child");
        _exit(3);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3;
}

int main(int count, char** arguments) {
    static char text[] = "some text";
    const char* way = count > 1 ? arguments[1] : "asks";
    int right;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    if (count > 2) return never();
    if (!strcmp(way, "asks")) {
        right = asks();
    } else if (!strcmp(way, "refused")) {
        right = refused();
    } else {
        right = !strcmp(way, "sets") ? sets(SECCOMP_RET_ALLOW) : vforks();
    }
    take(text);
    puts(right ? "right" : "wrong");
    fflush(stdout);
    return strcmp(way, "vfork") ? 0 : raise(SIGKILL);
}
