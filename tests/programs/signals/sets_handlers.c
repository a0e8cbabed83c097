/*
 * The program's own handlers of faults, while Strobe comes and goes. `sets_handlers MODE`.
 *
 *   tells       for each byte of its input a line: what sigaction says of each signal, what its handlers see, and how
 *               children of fork and vfork that fault end, or are told
 *   sets        says "ready"; until SIGUSR1 one thread sets handlers of SIGSEGV, and others return pointers to no
 * memory ignores     children, in each of which a thread is passed such pointers while another one ignores SIGSEGV
 *
 * `take` and `give` never follow the pointer.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define CHILDREN 40

static char* bad;
static sigjmp_buf back;
static volatile sig_atomic_t seen, is_over;

__attribute__((noinline)) int take(const char* text) {
    __asm__ volatile("" ::"r"(text));
    return text == bad;
}

__attribute__((noinline)) const char* give(int microseconds) {
    if (microseconds) usleep(microseconds);
    return bad;
}

static void note(int signal) { seen = seen * 100 + signal; }

static void leave(int signal) {
    note(signal);
    siglongjmp(back, 1);
}

/* Of a fault that the program did not make. */
static void wrong(int signal) {
    (void)signal;
    _exit(9);
}

static void end(int signal) {
    (void)signal;
    is_over = 1;
}

static void set(int signal, void (*handler)(int), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaddset(&action.sa_mask, SIGUSR2);
    sigaction(signal, &action, NULL);
}

static char name_of(void (*handler)(int)) {
    if (handler == SIG_DFL) return 'd';
    if (handler == SIG_IGN) return 'i';
    if (handler == note) return 'n';
    if (handler == leave) return 'l';
    return handler == end ? 'e' : '?';
}

static void tell(const char* who) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGUSR1, SIGPIPE};
    printf("%s:", who);
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction found;
        sigaction(signals[i], NULL, &found);
        printf(" %c%x%s", name_of(found.sa_handler), found.sa_flags & ~0x04000000,
               sigismember(&found.sa_mask, SIGUSR2) ? "m" : "");
    }
    printf("\n");
    fflush(stdout);
}

static void fault(void) { *(volatile char*)bad = 1; }

static void catches(void) {
    seen = 0;
    if (sigsetjmp(back, 1) == 0) fault();
    raise(SIGBUS);
    printf("saw %d, took %d\n", (int)seen, take(bad));
}

static void await(const char* who, pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    printf("%s ended by %d with %d\n", who, WTERMSIG(status), WEXITSTATUS(status));
    fflush(stdout);
}

/* Sets, and is told, what is its own alone. */
static void be_child(const char* who) {
    tell(who);
    catches();
    set(SIGBUS, SIG_IGN, 0);
    raise(SIGBUS);
    set(SIGSEGV, SIG_DFL, 0);
    tell(who);
    take(bad);
    fault();
}

static void tell_all(int round) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) be_child("child");
    await("child", child);
    child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);  // a child that the C library knows nothing of
    if (child == 0) be_child("clone");
    await("clone", child);
    child = vfork();
    if (child == 0) _exit(take(bad));
    await("vfork", child);
    tell("program");
    catches();
    set(SIGSEGV, leave, round % 2 ? SA_NODEFER : SA_ONSTACK);
    set(SIGBUS, note, round % 2 ? SA_RESTART : 0);
    set(SIGPIPE, round % 2 ? SIG_IGN : SIG_DFL, 0);
    tell("program");
    printf("end\n");
    fflush(stdout);
}

static void tells(void) {
    char byte;
    int round = 0;
    set(SIGSEGV, leave, SA_ONSTACK);
    set(SIGBUS, note, 0);
    set(SIGUSR1, note, SA_RESTART);
    while (read(0, &byte, 1) == 1) tell_all(round++);
}

static void* gives(void* unused) {
    for (unsigned i = 0; !is_over; i++) give((int)(i * 3701 % 40000));
    return unused;
}

static void sets(void) {
    pthread_t threads[THREADS];
    set(SIGUSR1, end, 0);
    set(SIGSEGV, wrong, 0);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, gives, NULL);
    printf("ready\n");
    fflush(stdout);
    for (unsigned i = 0; !is_over; i++) {
        set(SIGSEGV, wrong, i % 2 ? SA_NODEFER : 0);
        usleep(100);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("right\n");
}

static void* takes(void* unused) {
    while (!is_over) take(bad);
    return unused;
}

/* Whether the kernel ignores the signal, as a program that this one executes would find it. */
static int is_ignored(int signal) {
    char line[256];
    unsigned long long mask = 0;
    FILE* file = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "SigIgn: %llx", &mask) == 1) break;
    fclose(file);
    return mask >> (signal - 1) & 1;
}

static void ignore_meanwhile(void) {
    pthread_t thread;
    struct sigaction found;
    pthread_create(&thread, NULL, takes, NULL);
    usleep(2000);
    set(SIGSEGV, SIG_IGN, 0);
    raise(SIGSEGV);
    sigaction(SIGSEGV, NULL, &found);
    const int is_right = found.sa_handler == SIG_IGN && is_ignored(SIGSEGV);
    usleep(1000);
    is_over = 1;
    pthread_join(thread, NULL);
    _exit(is_right ? 7 : 8);
}

static void ignores(void) {
    int right = 0;
    for (int i = 0; i < CHILDREN; i++) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) ignore_meanwhile();
        waitpid(child, &status, 0);
        right += WIFEXITED(status) && WEXITSTATUS(status) == 7;
    }
    printf("%d of %d right\n", right, CHILDREN);
}

int main(int count, char** arguments) {
    const char* mode = count > 1 ? arguments[1] : "";
    alarm(300);
    bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (strcmp(mode, "tells") == 0) tells();
    if (strcmp(mode, "sets") == 0) sets();
    if (strcmp(mode, "ignores") == 0) ignores();
    return 0;
}
