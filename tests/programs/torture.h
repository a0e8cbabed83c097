/* What the programs of the torture test have in common: rounds of work with a known result, until SIGUSR1.
 * `program SECONDS PAUSE [PLUGIN]` ends by itself after SECONDS, and waits for PAUSE microseconds after each round. */
#ifndef TORTURE_H
#define TORTURE_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TRACED __attribute__((noinline))
/* Some 40 threads of these programs want all CPUs: what starts in them, and asks, goes first. */
__attribute__((constructor)) static void be_nice(void) { setpriority(PRIO_PROCESS, 0, 10); }
#ifdef __cplusplus
#define C_NAME extern "C"
#else
#define C_NAME
#endif

volatile long gRounds;
volatile long gCounted; /* calls of `counted` in this process */
volatile long gHandled; /* calls of `handled` */
volatile long gPlugged; /* calls of `plugged_step` of the plugin */
volatile unsigned gMagic = 0x5eed;
volatile int gWritten = 7; /* Strobe writes here */
volatile int gEcho;        /* and finds it here after the next round */
const char* volatile gText = "torture";
static volatile sig_atomic_t told;
static int failures;
static const char* plugin_path;
static long first_round, first_sum; /* of a program that has become itself */

C_NAME TRACED long counted(long value);
C_NAME TRACED long never_called(long value);
C_NAME TRACED long recursive(long depth, long value);

C_NAME long counted(long value) {
    __atomic_fetch_add(&gCounted, 1, __ATOMIC_SEQ_CST);
    return value + 1;
}
C_NAME long never_called(long value) {
    __asm__ volatile("" : "+r"(value));
    return value + 2;
}
/* value + depth */
C_NAME long recursive(long depth, long value) {
    long result = depth > 0 ? 1 + recursive(depth - 1, value) : value;
    __asm__ volatile("" : "+r"(result)); /* a call in tail position is no call */
    return result;
}

static void on_told(int number) { told = number; }

static void check(const char* what, long is, long should_be) {
    if (is == should_be) return;
    printf("wrong %s: %ld, not %ld, in round %ld\n", what, is, should_be, gRounds);
    fflush(stdout);
    failures++;
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void wait_a_little(long microseconds) {
    struct timespec pause;
    pause.tv_sec = microseconds / 1000000;
    pause.tv_nsec = microseconds % 1000000 * 1000;
    if (microseconds > 0) nanosleep(&pause, NULL);
}

/* `round_of(n)` must be 3 n + 7. The exit status is 5, or 3 where anything was wrong. */
static int run_rounds(int count, char** arguments, long (*round_of)(long)) {
    const double end = seconds_now() + (count > 1 ? atof(arguments[1]) : 10.0);
    const long pause = count > 2 ? atol(arguments[2]) : 1000;
    long sum = first_sum;
    if (count > 3) plugin_path = arguments[3];
    signal(SIGUSR1, on_told);
    if (first_round == 0) puts("ready");
    fflush(stdout);
    gRounds = first_round;
    while (!told && seconds_now() < end) {
        const long result = counted(round_of(gRounds));
        check("round", result, 3 * gRounds + 8);
        sum += result;
        gRounds = gRounds + 1;
        gEcho = gWritten;
        first_sum = sum;
        wait_a_little(pause);
    }
    if (gMagic != 0x5eed) never_called(1);
    printf("end rounds %ld sum %ld failures %d counted %ld handled %ld plugged %ld written %d told %d\n", gRounds, sum,
           failures, gCounted, gHandled, gPlugged, gWritten, told != 0);
    fflush(stdout);
    return failures ? 3 : 5;
}

#endif
