// Threads and handlers that block all signals; a handler of SIGTRAP, a breakpoint instruction, and SIGTRAP as a signal
// of the program's own; a child.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t gTraps;
static volatile sig_atomic_t gUsers;

static volatile int gSteps;

__attribute__((noinline)) static int step(int n) {
    int value = n;
    gSteps++;
    value += 1;  // step
    return value;
}

static void on_trap(int signal) {
    gTraps += signal == SIGTRAP;
    step(0);
}

static void on_user(int signal) {
    (void)signal;
    gUsers += step(0);
}

static void handle(int signal, void (*handler)(int)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigfillset(&action.sa_mask);
    sigaction(signal, &action, NULL);
}

static void* blocked(void* argument) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    long* sum = argument;
    for (int i = 0; i < 100; i++) *sum += step(i);
    struct timespec soon = {0, 1000000};
    ppoll(NULL, 0, &soon, &all);
    *sum += step(0);
    return NULL;
}

int main(void) {
    pthread_t thread;
    long sum = 0;
    handle(SIGTRAP, on_trap);
    handle(SIGUSR1, on_user);
    raise(SIGUSR1);
    raise(SIGTRAP);
    __asm__ volatile("int3");
    pthread_create(&thread, NULL, blocked, &sum);
    pthread_join(thread, NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGTRAP, SIG_DFL);
        _exit(step(41));
    }
    int status = 0;
    waitpid(child, &status, 0);
    child = fork();
    if (child == 0) {
        signal(SIGTRAP, SIG_DFL);
        step(1);
        raise(SIGTRAP);
        _exit(0);
    }
    int killed = 0;
    waitpid(child, &killed, 0);
    printf("%d %d %ld %d %d\n", (int)gTraps, (int)gUsers, sum, WEXITSTATUS(status), WTERMSIG(killed));
    signal(SIGTRAP, SIG_IGN);
    raise(SIGTRAP);
    printf("%d\n", step(1));
}
