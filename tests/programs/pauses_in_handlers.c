/* Calls all the time. A handler of SIGUSR2 interrupts that until SIGHUP; SIGUSR1 ends the program. */
#include "told.h"

__attribute__((noinline)) int step(int value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

static void on_go_on(int number) { (void)number; }

static void on_pause(int number) {
    sigset_t others;
    (void)number;
    sigfillset(&others);
    sigdelset(&others, SIGHUP);
    sigsuspend(&others);
}

int main(void) {
    sigset_t going_on;
    run_until_told();
    sigemptyset(&going_on);
    sigaddset(&going_on, SIGHUP);
    sigprocmask(SIG_BLOCK, &going_on, NULL);
    signal(SIGHUP, on_go_on);
    signal(SIGUSR2, on_pause);
    for (int value = 0; !told; value = (value + 1) % 1000000) step(value);
    return 0;
}
