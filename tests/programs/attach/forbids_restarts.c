/* Four threads wait again and again, each in another system call with a timeout: a call that is interrupted there goes
   on by restart_syscall. At SIGUSR1 every thread sets a filter of system calls that ends the program at that one, and
   "filtered" is printed when all have. At SIGUSR2 the threads end; prints "right" where no wait was told that it had
   been interrupted by what was no signal, or ended too early. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kThreads = 4, kWaitMs = 150 };

static volatile sig_atomic_t gFilters, gEnds;
static pthread_barrier_t gFiltered;
int gWaits, gWrong;
__thread int tWaits;

static void told(int number) {
    if (number == SIGUSR1) gFilters = 1;
    if (number == SIGUSR2) gEnds = 1;
}

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void filter(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        __atomic_add_fetch(&gWrong, 1, __ATOMIC_RELAXED);
    pthread_barrier_wait(&gFiltered);
}

/* 0, or an error number */
__attribute__((noinline)) int wait_once(int how) {
    static int word;
    const struct timespec time = {0, kWaitMs * 1000000L};
    switch (how) {
        case 0:
            return syscall(SYS_nanosleep, &time, NULL) == 0 ? 0 : errno;
        case 1:
            return syscall(SYS_poll, NULL, 0, kWaitMs) == 0 ? 0 : errno;
        case 2: /* FUTEX_WAIT_PRIVATE */
            syscall(SYS_futex, &word, 128, 0, &time, NULL, 0);
            return errno == ETIMEDOUT ? 0 : errno;
        default:
            return clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    }
}

static void* waits(void* argument) {
    const int how = (int)(long)argument;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGUSR2);
    if (how != 0) pthread_sigmask(SIG_BLOCK, &signals, NULL);
    for (int is_filtered = 0; !gEnds;) {
        if (gFilters && !is_filtered) {
            is_filtered = 1;
            filter();
        }
        const long long begin = now_ns();
        const int error = wait_once(how);
        if (error == EINTR && how == 0) continue; /* our own signals */
        if (error != 0 || now_ns() - begin < kWaitMs * 1000000LL) __atomic_add_fetch(&gWrong, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&gWaits, 1, __ATOMIC_RELAXED);
        tWaits++;
    }
    return NULL;
}

static void* tells(void* unused) {
    pthread_barrier_wait(&gFiltered);
    puts("filtered");
    fflush(stdout);
    return unused;
}

int main(void) {
    pthread_t threads[kThreads];
    signal(SIGUSR1, told);
    signal(SIGUSR2, told);
    pthread_barrier_init(&gFiltered, NULL, kThreads + 1);
    puts("ready");
    fflush(stdout);
    for (long i = 1; i < kThreads; i++) pthread_create(&threads[i], NULL, waits, (void*)i);
    pthread_create(&threads[0], NULL, tells, NULL);
    waits(NULL);
    for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
    puts(gWrong ? "wrong" : "right");
    return gWrong != 0;
}
