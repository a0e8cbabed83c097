// What programs do with signals and contexts that a breakpoint instruction must not disturb, each behind its name.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile long gSum;

__attribute__((noinline)) static void step(int n) {
    gSum += n;
    int value = n;
    value++;  // short
    gSum ^= value;
}

// In a thread of the C library's own, which has all signals blocked.
static volatile int fired;

static void notified(union sigval value) {
    step(value.sival_int);
    fired++;
}

static void notifies(void) {
    struct sigevent event;
    struct itimerspec soon = {{0, 0}, {0, 1000000}};
    timer_t timer;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = notified;
    event.sigev_value.sival_int = 41;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &soon, NULL);
    while (!fired) usleep(1000);
}

// More of them than there are places for without further memory, all different.
static void notifiesOften(void) {
    struct sigevent event;
    struct itimerspec soon = {{0, 0}, {0, 100000}};
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = notified;
    for (int i = 1; i <= 600; i++) {
        timer_t timer;
        event.sigev_value.sival_int = i;
        timer_create(CLOCK_MONOTONIC, &event, &timer);
        timer_settime(timer, 0, &soon, NULL);
        while (fired < i) usleep(100);
        timer_delete(timer);
    }
}

// A child that resets all signals before its exec.
static void resets(void) {
    int status = 0;
    step(1);
    const pid_t child = vfork();
    if (child == 0) {
        for (int number = 1; number < 32; number++) signal(number, SIG_DFL);
        step(2);
        execl("/bin/true", "true", (char*)NULL);
        _exit(9);
    }
    waitpid(child, &status, 0);
    printf("child %x\n", status);
    step(3);
}

// The system call itself.
static void calls(void) {
    unsigned long action[4] = {0, 0, 0, 0};
    step(1);
    syscall(SYS_rt_sigaction, SIGTRAP, action, 0, 8);
    step(2);
}

// A handler on the alternate stack that is left and resumed later.
static ucontext_t gMain, gHandler, gWorker;
static char gStack[65536];

static void suspended(int number) {
    volatile long guard[64];
    (void)number;
    for (int i = 0; i < 64; i++) guard[i] = 0x1111L * i;
    swapcontext(&gHandler, &gMain);
    for (int i = 0; i < 64; i++)
        if (guard[i] != 0x1111L * i) puts("corrupt");
}

static void worker(void) {
    raise(SIGUSR1);
    swapcontext(&gWorker, &gMain);
}

static void schedules(void) {
    stack_t stack = {.ss_size = 65536};
    struct sigaction action;
    stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&stack, NULL);
    memset(&action, 0, sizeof action);
    action.sa_handler = suspended;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    sigaction(SIGUSR1, &action, NULL);
    getcontext(&gWorker);
    gWorker.uc_stack.ss_sp = gStack;
    gWorker.uc_stack.ss_size = sizeof gStack;
    makecontext(&gWorker, worker, 0);
    swapcontext(&gMain, &gWorker);
    for (int i = 0; i < 5; i++) step(i);
    swapcontext(&gMain, &gHandler);
}

// The same place for two seconds.
static void busy(void) {
    const time_t end = time(NULL) + 3;
    while (time(NULL) < end) step(1);
    gSum = 0;
}

int main(int argc, char** argv) {
    const struct {
        const char* name;
        void (*run)(void);
    } all[] = {{"notifies", notifies}, {"notifiesOften", notifiesOften}, {"resets", resets},
               {"calls", calls},       {"schedules", schedules},         {"busy", busy}};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && !strcmp(argv[1], all[i].name)) all[i].run();
    printf("%ld\n", gSum);
    return 7;
}
