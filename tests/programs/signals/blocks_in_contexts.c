/* A handler comes five thousand times a second, or every EVERY_NS, and, at every other time, blocks SIGSEGV in the
   context that it returns to: in the middle of what the thread does. The pointer leads nowhere, and nobody follows it.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "told.h"

#ifndef EVERY_NS
#define EVERY_NS 200000
#endif

static const char* bad;

__attribute__((noinline)) int take(const char* text, const char* other) {
    __asm__ volatile("" ::"r"(text), "r"(other));
    return text == bad;
}

static void toggle(int signal, siginfo_t* information, void* context) {
    static int times;
    sigset_t* mask = &((ucontext_t*)context)->uc_sigmask;
    (void)signal;
    (void)information;
    if (++times % 2)
        sigaddset(mask, SIGSEGV);
    else
        sigdelset(mask, SIGSEGV);
}

int main(void) {
    const struct itimerspec often = {{0, EVERY_NS}, {0, EVERY_NS}};
    struct sigevent event;
    struct sigaction action;
    timer_t timer;
    int is_right = 1;
    bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    run_until_told();
    memset(&action, 0, sizeof action);
    action.sa_sigaction = toggle;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGUSR2, &action, NULL);
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR2;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 1;
    puts("ready");
    fflush(stdout);
    timer_settime(timer, 0, &often, NULL);
    while (!told) is_right &= take(bad, bad + 100);
    puts(is_right ? "right" : "wrong");
    return 0;
}
