/* Ends by a signal, with a core dump, while another thread waits in calls. "write", "wild" (an address that no memory
   can have), "divide", "first" (in a function's first instruction), "abort", "assert", "raise", "sent", "own" (its
   handler raises the signal again), "child" (a forked child does). */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACED __attribute__((noinline))
#define AFTERWARDS() __asm__ volatile("" ::: "memory") /* a call before it is none at its end */

static int ready[2];
static volatile int zero;

TRACED int wait_within(int depth) {
    int found = 0;
    if (depth > 0)
        found = wait_within(depth - 1);
    else if (write(ready[1], "", 1) == 1)
        pause();
    AFTERWARDS();
    return found;
}

static void* wait_for_ever(void* unused) {
    wait_within(3);
    return unused;
}

TRACED int first(const int* from) { return *from; }

static void again(int number) {
    signal(number, SIG_DFL);
    raise(number);
}

TRACED void end_by(const char* how) {
    if (strcmp(how, "write") == 0) *(volatile int*)16 = 1;
    if (strcmp(how, "wild") == 0) *(volatile int*)0x8000000000000000ul = 1;
    if (strcmp(how, "divide") == 0) zero = 5 / zero;
    if (strcmp(how, "first") == 0) zero = first((const int*)16) + 1;
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "assert") == 0) assert(zero != 0);
    if (strcmp(how, "raise") == 0) raise(SIGABRT);
    if (strcmp(how, "sent") == 0) kill(getpid(), SIGBUS);
    if (strcmp(how, "own") == 0) {
        signal(SIGSEGV, again);
        *(volatile int*)16 = 1;
    }
    AFTERWARDS();
}

TRACED void call(int depth, const char* how) {
    if (depth > 0)
        call(depth - 1, how);
    else
        end_by(how);
    AFTERWARDS();
}

TRACED void fork_and_call(int depth) {
    pid_t child;
    if (depth > 0) {
        fork_and_call(depth - 1);
    } else if ((child = fork()) == 0) {
        call(1, "write");
    } else {
        waitpid(child, NULL, 0);
    }
    AFTERWARDS();
}

int main(int count, char** words) {
    pthread_t thread;
    char byte;
    if (count < 2 || pipe(ready) != 0) return 2;
    if (strcmp(words[1], "child") == 0) {
        fork_and_call(2);
        return 0;
    }
    pthread_create(&thread, NULL, wait_for_ever, NULL);
    if (read(ready[0], &byte, 1) != 1) return 2;
    call(3, words[1]);
    return 3;
}
