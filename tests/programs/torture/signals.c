/* Timers whose handlers run on all stacks and call, jumps out of handlers, faults that the program handles. */
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "torture.h"

static __thread sigjmp_buf back;
static volatile int stop;
static char* forbidden;

C_NAME TRACED long handled(long value) {
    __atomic_fetch_add(&gHandled, 1, __ATOMIC_SEQ_CST);
    return value + 1;
}

static void on_timer(int number) { check("handler", handled(number), number + 1); }
static void on_jump(int number) { siglongjmp(back, number); }

static void handle(int number, void (*handler)(int), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(number, &action, NULL);
}

static void take_alternate_stack(void) {
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_size = 65536;
    stack.ss_sp = malloc(stack.ss_size);
    sigaltstack(&stack, NULL);
}

TRACED long jump_out(long value) {
    if (sigsetjmp(back, 1) == 0) {
        raise(SIGUSR2);
        return -1;
    }
    return value + 1;
}
TRACED long fault(long value) {
    if (sigsetjmp(back, 1) == 0) {
        *(volatile char*)forbidden = 1;
        return -1;
    }
    return value + 1;
}

static void* work(void* unused) {
    take_alternate_stack();
    for (long number = 0; !stop; number++) {
        check("thread", fault(jump_out(recursive(10, number))), number + 12);
        counted(number);
        wait_a_little(100);
    }
    return unused;
}

static long round_of(long number) {
    long sum = 0;
    for (int turn = 0; turn < 50; turn++) sum += recursive(20, turn) - turn - 20;
    return fault(jump_out(3 * number + 5)) + sum;
}

int main(int count, char** arguments) {
    const struct itimerval profile = {{0, 2000}, {0, 2000}}, real = {{0, 3000}, {0, 3000}};
    const struct itimerspec ticks = {{0, 2500000}, {0, 2500000}};
    struct sigevent event;
    timer_t timer;
    pthread_t threads[2];
    forbidden = (char*)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    take_alternate_stack();
    handle(SIGPROF, on_timer, SA_RESTART);
    handle(SIGALRM, on_timer, SA_RESTART | SA_ONSTACK);
    handle(SIGRTMIN + 2, on_timer, SA_RESTART | SA_NODEFER);
    handle(SIGUSR2, on_jump, SA_ONSTACK);
    handle(SIGSEGV, on_jump, 0);
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMIN + 2;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &ticks, NULL);
    setitimer(ITIMER_PROF, &profile, NULL);
    setitimer(ITIMER_REAL, &real, NULL);
    for (int index = 0; index < 2; index++) pthread_create(&threads[index], NULL, work, NULL);
    const int status = run_rounds(count, arguments, round_of);
    sigset_t all;
    sigfillset(&all);
    stop = 1;
    for (int index = 0; index < 2; index++) pthread_join(threads[index], NULL);
    sigprocmask(SIG_BLOCK, &all, NULL);
    printf("last counted %ld handled %ld\n", gCounted, gHandled);
    return status;
}
