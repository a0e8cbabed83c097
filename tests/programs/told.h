/* Programs that run until a test tells them to end: SIGUSR1. An alarm ends a forgotten one; the long forms of tests
 * (tests/support/rounds.py) take long. */
#ifndef TOLD_H
#define TOLD_H

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t told;

static void on_told(int signal_number) { told = signal_number; }

static inline void run_until_told(void) {
    signal(SIGUSR1, on_told);
    alarm(getenv("STROBE_SCENARIOS") ? 3600 : 120);
}

#endif
