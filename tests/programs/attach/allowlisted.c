// Lets the kernel end it at any system call but those it makes itself from then on. "list": a list of them; "threads":
// the same with threads that begin under it; "masked": with a handler that blocks all signals; "strict": strict mode.
// First calls of functions come after that.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static char* bad;
static long sum;

__attribute__((noinline)) int take(const char* text, int number) {
    __asm__ volatile("" ::"r"(text));
    return number & 1;
}

__attribute__((noinline)) void work(void) {
    char text[] = "some text";
    for (int i = 0; i < 100000; i++) sum += take(i % 2 ? text : bad, i);
}

static void* run(void* unused) {
    (void)unused;
    work();
    return NULL;
}

static void filter(int with_threads) {
    struct sock_filter alone[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_rt_sigreturn),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_filter threads[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_clone),
        ALLOW(SYS_clone3),
        ALLOW(SYS_mmap),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mprotect),
        ALLOW(SYS_futex),
        ALLOW(SYS_set_robust_list),
        ALLOW(334 /* rseq */),
        ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_rt_sigaction),
        ALLOW(SYS_madvise),
        ALLOW(SYS_getrandom),
        ALLOW(SYS_brk),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof alone / sizeof alone[0], alone};
    if (with_threads) program = (struct sock_fprog){sizeof threads / sizeof threads[0], threads};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) exit(2);
}

static void ignore(int signal) { (void)signal; }

static void say(const char* text) {
    if (write(1, text, strlen(text)) < 0) _exit(4);
}

int main(int count, char** arguments) {
    const char* way = count > 1 ? arguments[1] : "list";
    bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!strcmp(way, "masked")) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = ignore;
        sigfillset(&action.sa_mask);
        sigaction(SIGUSR1, &action, NULL);
    }
    if (!strcmp(way, "strict")) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    } else {
        filter(!strcmp(way, "threads"));
    }
    if (!strcmp(way, "threads")) {
        for (int i = 0; i < 3; i++) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, run, NULL) != 0) return 3;
            pthread_join(thread, NULL);
        }
    } else {
        work();
    }
    say(sum == (strcmp(way, "threads") ? 50000 : 150000) ? "right\n" : "wrong\n");
    syscall(strcmp(way, "strict") ? SYS_exit_group : SYS_exit, 0);
}
