/* Two threads that call, through frames that stay open for a while, until SIGUSR1; then says whether all sums were
 * right. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>

#include "told.h"

#define TRACED __attribute__((noinline))

volatile long gSteps;
static volatile int wrong;
static volatile sig_atomic_t wants_child;

static void on_child_wanted(int signal_number) { wants_child = signal_number; }

TRACED int step(int value) {
    __asm__ volatile("" : "+r"(value));
    __atomic_fetch_add(&gSteps, 1, __ATOMIC_RELAXED);
    return value + 1;
}
TRACED int turn(int value) { return step(value) + step(value); }
/* Open for half a second: whoever attaches and detaches meanwhile leaves its return to be caught. */
TRACED int long_turn(int value) {
    int sum = 0;
    for (int count = 0; count < 100 && !told; count++) {
        for (int one = 0; one < 10; one++) sum += turn(value) - 2 * value - 2;
        usleep(5000);
    }
    return sum + value;
}
static void* call_on(void* unused) {
    for (int value = 0; !told && (!unused || !wants_child); value++)
        if (long_turn(value) != value) wrong = 1;
    return unused;
}
static void end_as(const char* who) {
    printf("%s %s\n", who, wrong ? "wrong" : "right");
    fflush(stdout);
}
static void run_child(void) {
    pid_t child = fork();
    if (child == 0) {
        printf("child %d\n", getpid());
        fflush(stdout);
        call_on(NULL);
        end_as("child");
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(void) {
    pthread_t thread;
    run_until_told();
    alarm(4000); /* some tests take long */
    signal(SIGUSR2, on_child_wanted);
    pthread_create(&thread, NULL, call_on, NULL);
    puts("ready");
    fflush(stdout);
    call_on(&thread);
    if (!told) run_child();
    pthread_join(thread, NULL);
    end_as("parent");
    return 0;
}
