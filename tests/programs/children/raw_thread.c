// A thread that clone has made, not the C library: it has the thread pointer of the main one. Prints "ready", then
// waits.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local int gLocal = 5;
volatile int gTid;
static char stack[1 << 16] __attribute__((aligned(16)));

static int wait_for_ever(void* unused) {
    (void)unused;
    for (;;) syscall(SYS_pause);
    return 0;
}

int main(void) {
    gLocal = 6;
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    gTid = clone(wait_for_ever, stack + sizeof stack, flags, NULL);
    puts("ready");
    fflush(stdout);
    pause();
}
