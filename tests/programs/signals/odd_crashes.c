/* Ends by a signal where its stack or its code is unusual: in a handler of another signal, in code that was made at run
 * time, at the end of the stack, by an access that is not aligned, after a handler has left by a jump. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

volatile int sink;
static int* volatile nowhere;
static sigjmp_buf behind;

__attribute__((noinline)) void write_to(int* place) {
    *place = 1;
    sink++;
}
__attribute__((noinline)) void enter(int* place) {
    write_to(place);
    sink++;
}
static void on_user_signal(int number) {
    enter(nowhere);
    sink = number;
}
static void leave(int number) { siglongjmp(behind, number); }
__attribute__((noinline)) int descend(int depth) {
    volatile char room[200];
    room[0] = (char)depth;
    return descend(depth + 1) + room[0];
}
__attribute__((noinline)) void spoil(void) {
    volatile uint64_t room[500];
    memset((void*)room, 0x5a, sizeof room);
}
/* `call`: rax is called; else written to. On top of the stack lies an address of the program's code, which is no
   return address. */
static void made_at_run_time(int call) {
    static const uint8_t writes[] = {0x56, 0x31, 0xc0, 0xc7, 0x00, 1, 0, 0, 0, 0x5e, 0xc3};
    static const uint8_t calls[] = {0x56, 0x48, 0x31, 0xff, 0xff, 0xd2, 0x5e, 0xc3};
    uint8_t* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, call ? calls : writes, call ? sizeof calls : sizeof writes);
    ((void (*)(int, void (*)(int), void (*)(int*)))(uintptr_t)code)(0, leave, enter);
    sink++;
}

int main(int count, char** names) {
    const char* how = count > 1 ? names[1] : "";
    if (!strcmp(how, "handler")) {
        signal(SIGUSR1, on_user_signal);
        raise(SIGUSR1);
    }
    if (!strcmp(how, "made")) made_at_run_time(0);
    if (!strcmp(how, "made-calls")) made_at_run_time(1);
    if (!strcmp(how, "data")) ((void (*)(void))(uintptr_t)&sink)();
    if (!strcmp(how, "overflow")) {
        stack_t aside = {.ss_sp = malloc(65536), .ss_size = 65536};
        sigaltstack(&aside, NULL);
        descend(0);
    }
    if (!strcmp(how, "aligned")) {
        volatile char room[16];
        __asm__ volatile("pushf\n orl $0x40000, (%%rsp)\n popf" ::: "memory");
        *(volatile int*)(room + 1) = 3;
    }
    if (!strcmp(how, "left")) {
        signal(SIGSEGV, leave);
        if (sigsetjmp(behind, 1) == 0) enter(nowhere);
        spoil();
        signal(SIGSEGV, SIG_DFL);
        enter(nowhere);
    }
    sink++; /* a call is not the last thing that main does */
    return 0;
}
