// A program that sets handlers of faults by system calls of its own, as runtimes without the C library do, and passes a
// pointer on that leads nowhere. HIDDEN: the code does not show which system call it is.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SA_RESTORER 0x04000000
#define CALLS 1000

struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

#ifdef HIDDEN
static volatile long number = SYS_rt_sigaction;
#else
#define number SYS_rt_sigaction
#endif

static char* bad;

__attribute__((noinline)) int take(const char* text) {
    __asm__ volatile("" ::"r"(text));
    return text == bad;
}

static void handle(int signal) {
    (void)signal;
    _exit(9);
}

static void restore(void) { __asm__ volatile("mov $15, %eax; syscall"); }

static void set(long signal) {
    const struct kernel_action action = {handle, SA_RESTORER, restore, 0};
    long result = number;
    register long size __asm__("r10") = sizeof action.mask;
    __asm__ volatile("syscall" : "+a"(result) : "D"(signal), "S"(&action), "d"(0), "r"(size) : "rcx", "r11", "memory");
}

int main(void) {
    int taken = 0;
    bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#ifndef HIDDEN
    taken += take(bad);
#endif
    set(SIGSEGV);
    set(SIGBUS);
    for (int i = 0; i < CALLS; i++) taken += take(bad);
    printf("took %d\n", taken);
    return 0;
}
