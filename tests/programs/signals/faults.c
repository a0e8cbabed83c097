// Faults, and pointers that lead nowhere, in every state that a thread's signals can be in. Each way prints what the
// program sees of it; some end by a signal. `take` is called with pointers that it never follows.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static char* bad;
static sigjmp_buf back;
static volatile sig_atomic_t seen;

__attribute__((noinline)) int take(const char* text) {
    __asm__ volatile("" ::"r"(text));
    return text == bad;
}

static int take_often(void) {
    int sum = 0;
    for (int i = 0; i < 1000; i++) sum += take(bad);
    return sum;
}

static void fault(void) { *(volatile char*)bad = 1; }

static void note(int signal) { seen += 100 * signal + take(bad); }

static void note_where(int signal, siginfo_t* information, void* context) {
    ucontext_t* state = context;
    seen = signal + (information->si_addr == bad ? 1000 : 0) + (state->uc_mcontext.gregs[REG_RIP] != 0 ? 10000 : 0);
    take(bad);
    siglongjmp(back, 1);
}

static void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal, &action, NULL);
}

static void handle_where(int flags) {
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = note_where;
    action.sa_flags = SA_SIGINFO | flags;
    sigaddset(&action.sa_mask, SIGUSR2);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGSEGV, NULL, &before);
    printf("is its own: %d, flags %x, mask %d %d\n", before.sa_sigaction == note_where, before.sa_flags & ~0x04000000,
           sigismember(&before.sa_mask, SIGUSR2), sigismember(&before.sa_mask, SIGSEGV));
}

static void recover(void) {
    for (volatile int i = 0; i < 100; i++) {
        if (sigsetjmp(back, 1) == 0) fault();
    }
    printf("recovered, saw %d, took %d\n", (int)seen, take_often());
}

static void* with_all_blocked(void* unused) {
    sigset_t all;
    (void)unused;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    printf("blocked: took %d\n", take_often());
    return NULL;
}

static void handlers(void) {
    struct sigaction before;
    sigaction(SIGSEGV, NULL, &before);
    printf("default at first: %d\n", before.sa_handler == SIG_DFL);
    handle_where(0);
    recover();
    handle_where(SA_NODEFER | SA_ONSTACK);
    recover();
    printf("signal gives the one before: %d\n", (void*)signal(SIGSEGV, SIG_DFL) == (void*)note_where);
    handle_where(0);
    recover();
}

static void blocked(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, with_all_blocked, NULL);
    pthread_join(thread, NULL);
    printf("took %d\n", take_often());
}

static void masked(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note;
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 100; i++) raise(SIGUSR1);
    printf("saw %d\n", (int)seen);
}

static void block_there(int signal, siginfo_t* information, void* context) {
    (void)information;
    sigaddset(&((ucontext_t*)context)->uc_sigmask, SIGSEGV);
    seen = signal;
}

/* The handler has SIGSEGV blocked in what it returns to. Its own mask is empty, and so is what the thread asks for. */
static void in_context(int signal, int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = block_there;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(signal, &action, NULL);
    raise(signal);
    printf("saw %d, took %d\n", (int)seen, take_often());
}

/* The signal is blocked but for the wait: on a busy machine it would else be there before it. */
static void suspends(void) {
    sigset_t all;
    sigset_t one;
    handle(SIGUSR1, note, 0);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_BLOCK, &one, NULL);
    sigfillset(&all);
    sigdelset(&all, SIGUSR1);
    for (int i = 0; i < 10; i++) {
        if (fork() == 0) {
            usleep(2000);
            kill(getppid(), SIGUSR1);
            _exit(0);
        }
        sigsuspend(&all);
        wait(NULL);
    }
    printf("saw %d\n", (int)seen);
}

static void ignored(void) {
    signal(SIGSEGV, SIG_IGN);
    raise(SIGSEGV);
    printf("took %d\n", take_often());
    fflush(stdout);
    fault();
}

static void reset(void) {
    handle(SIGSEGV, note, SA_RESETHAND);
    raise(SIGSEGV);
    printf("saw %d\n", (int)seen);
    fflush(stdout);
    fault();
}

static int overflow(volatile char* from) {
    volatile char room[4096];
    room[0] = from[0];
    return overflow(room) + room[0];
}

static void on_overflow(int signal) {
    dprintf(1, "overflow: signal %d, took %d\n", signal, take(bad));
    _exit(3);
}

static void overflows(void) {
    static char room[1 << 16];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    char start = 0;
    sigaltstack(&stack, NULL);
    handle(SIGSEGV, on_overflow, SA_ONSTACK);
    fflush(stdout);
    overflow(&start);
}

static void vforks(void) {
    handle_where(0);
    for (int i = 0; i < 10; i++) {
        pid_t child = vfork();
        if (child == 0) {
            signal(SIGSEGV, SIG_DFL);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        recover();
    }
}

static void raw_mask(void) {
    uint64_t all = ~(uint64_t)0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
    printf("took %d\n", take_often());
}

static void raw_action(void) {
    uint64_t action[4] = {0};
    syscall(SYS_rt_sigaction, SIGSEGV, action, NULL, 8);
    printf("took %d\n", take_often());
}

static void bus(void) {
    FILE* file = tmpfile();
    if (ftruncate(fileno(file), 4096) != 0) return;
    bad = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    if (ftruncate(fileno(file), 0) != 0) return;
    printf("took %d\n", take_often());
    fflush(stdout);
    fault();
}

static void forks(void) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        printf("child took %d\n", take_often());
        fflush(stdout);
        fault();
    }
    waitpid(child, &status, 0);
    printf("child ended by %d, took %d\n", WTERMSIG(status), take_often());
}

/* What the program has set is what it is told: as the kernel has it, SIGUSR1 for comparison. */
static void tells(void) {
    for (int i = 0; i < 2; i++) {
        const int signal = i ? SIGUSR1 : SIGBUS;
        struct sigaction action, before;
        memset(&action, 0, sizeof action);
        action.sa_handler = note;
        action.sa_flags = SA_NODEFER | 0x40;
        sigfillset(&action.sa_mask);
        sigaction(signal, &action, NULL);
        sigaction(signal, NULL, &before);
        printf("flags %x, restorer %d, mask %lx\n", before.sa_flags, before.sa_restorer != NULL,
               before.sa_mask.__val[0]);
    }
}

static void vfork_sent(void) {
    int status = 0;
    pid_t child = vfork();
    if (child == 0) {
        kill(getpid(), SIGSEGV);
        _exit(7);
    }
    waitpid(child, &status, 0);
    printf("child ended by %d\n", WTERMSIG(status));
}

static void sets_id(void) {
    if (setegid(getegid()) != 0 || seteuid(geteuid()) != 0) return;
    printf("ids set, took %d\n", take_often());
}

int main(int count, char** arguments) {
    const char* way = count > 1 ? arguments[1] : "";
    bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!strcmp(way, "handlers")) handlers();
    if (!strcmp(way, "blocked")) blocked();
    if (!strcmp(way, "masked")) masked();
    if (!strcmp(way, "in-context")) in_context(SIGUSR1, 0);
    if (!strcmp(way, "fault-in-context")) in_context(SIGSEGV, SA_NODEFER);
    if (!strcmp(way, "suspends")) suspends();
    if (!strcmp(way, "ignored")) ignored();
    if (!strcmp(way, "reset")) reset();
    if (!strcmp(way, "overflows")) overflows();
    if (!strcmp(way, "vforks")) vforks();
    if (!strcmp(way, "raw-mask")) raw_mask();
    if (!strcmp(way, "raw-action")) raw_action();
    if (!strcmp(way, "bus")) bus();
    if (!strcmp(way, "forks")) forks();
    if (!strcmp(way, "tells")) tells();
    if (!strcmp(way, "vfork-sent")) vfork_sent();
    if (!strcmp(way, "sets-id")) sets_id();
    if (!strcmp(way, "traps")) __asm__ volatile("int $4");
    if (!strcmp(way, "faults")) fault();
    if (!strcmp(way, "sent")) kill(getpid(), SIGSEGV);
    if (!strcmp(way, "sent-bus")) raise(SIGBUS);
    printf("end\n");
    return 0;
}
