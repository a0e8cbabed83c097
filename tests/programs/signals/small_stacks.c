// Calls on stacks with little room, beside a page that nobody may touch: coroutines of 8 KiB, and handlers on an
// alternate stack of the least size that there may be.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

#define PAGE 4096
#define COROUTINES 20
#define COROUTINE_BYTES 8192

static volatile int sum;
static char* bad;
static sigjmp_buf back;
static ucontext_t caller, coroutines[COROUTINES];

__attribute__((noinline)) int work(int number, const char* text) {
    sum += number + (text == bad);
    return number + 1;
}

static char* stack_of(size_t bytes) {
    char* pages = mmap(NULL, bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages, PAGE, PROT_NONE);
    return pages + PAGE;
}

static void run(int id) {
    for (int i = 0; i < 100; i++) {
        work(i, bad);
        work(i, "text");
        if (i % 10 == 0) swapcontext(&coroutines[id], &caller);
    }
}

static void switch_often(void) {
    for (int i = 0; i < COROUTINES; i++) {
        getcontext(&coroutines[i]);
        coroutines[i].uc_stack.ss_sp = stack_of(COROUTINE_BYTES);
        coroutines[i].uc_stack.ss_size = COROUTINE_BYTES;
        coroutines[i].uc_link = &caller;
        makecontext(&coroutines[i], (void (*)(void))run, 1, i);
    }
    for (int round = 0; round <= 10; round++)
        for (int i = 0; i < COROUTINES; i++) swapcontext(&caller, &coroutines[i]);
}

static void note(int signal) { work(signal, bad); }

static void leave(int signal) {
    work(signal, bad);
    siglongjmp(back, 1);
}

static int overflow(volatile char* from) {
    volatile char room[PAGE];
    room[0] = from[0];
    return overflow(room) + room[0];
}

static void handle_often(void) {
    // what the kernel puts there, which is much where the CPU's registers are large, and 1 KiB for the handler
    const size_t bytes = getauxval(AT_MINSIGSTKSZ) + 1024;
    stack_t stack = {.ss_sp = stack_of(bytes), .ss_size = bytes};
    struct sigaction action;
    char start = 0;
    memset(&action, 0, sizeof action);
    action.sa_flags = SA_ONSTACK;
    action.sa_handler = note;
    if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0) return;
    action.sa_handler = leave;
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < 100; i++) {
        work(i, bad);
        raise(SIGUSR1);
    }
    if (sigsetjmp(back, 1) == 0) *(volatile char*)bad = 1;
    if (sigsetjmp(back, 1) == 0) overflow(&start);
}

int main(void) {
    bad = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    switch_often();
    handle_often();
    printf("sum %d\n", sum);
    return 0;
}
