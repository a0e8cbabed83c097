/* Calls all the time. A handler of SIGUSR2, with a large frame where an argument is given, interrupts that until
 * SIGHUP; SIGUSR1 ends the program. */
#include "told.h"

__attribute__((noinline)) int step(int value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

static void on_go_on(int number) { (void)number; }

static int has_large_frame;

__attribute__((noinline)) static void pause_here(void) {
    sigset_t others;
    sigfillset(&others);
    sigdelset(&others, SIGHUP);
    sigsuspend(&others);
}

__attribute__((noinline)) static void pause_with_large_frame(void) {
    volatile char room[100000];
    room[0] = 1;
    pause_here();
    room[sizeof room - 1] = room[0];
}

static void on_pause(int number) {
    (void)number;
    has_large_frame ? pause_with_large_frame() : pause_here();
}

int main(int count, char** arguments) {
    sigset_t going_on;
    has_large_frame = count > 1 && arguments[1][0];
    run_until_told();
    sigemptyset(&going_on);
    sigaddset(&going_on, SIGHUP);
    sigprocmask(SIG_BLOCK, &going_on, NULL);
    signal(SIGHUP, on_go_on);
    signal(SIGUSR2, on_pause);
    for (int value = 0; !told; value = (value + 1) % 1000000) step(value);
    return 0;
}
