/* Functions that fault in their first bytes, where a hook lies, and handlers that look where that was: safe reads that
 * a handler ends (a Java VM, a garbage collector), pages that it maps, registers that it mends, what it skips. What the
 * handler saw is told at the end: `wrong` counts what was not so. With `crash`: ends by the one that is named. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define ROUNDS 100

extern long reads_first(const long* from), reads_second(const long* from), skips(const long* from);
extern long calls_first(long (*const* function)(void)), divides_first(long by), traps_first(void);
extern const char fetched_none[];
/* of instructions; not in the code, where an address is one that may be jumped to */
static volatile long push_bytes = 1, load_bytes = 2;
long answers(void);

__asm__(
    ".text\n"
    ".globl reads_first, reads_second, skips, fetched_none, calls_first\n"
    ".globl divides_first, traps_first\n"
    ".type reads_first, @function\n"
    "reads_first: .cfi_startproc\n mov (%rdi), %rax\n add $1, %rax\n ret\n"
    "fetched_none: mov $-1, %rax\n ret\n .cfi_endproc\n .size reads_first, . - reads_first\n .p2align 4\n"
    ".type reads_second, @function\n"
    "reads_second: .cfi_startproc\n push %rbx\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset %rbx, 0\n"
    " mov (%rdi), %rbx\n mov %rbx, %rax\n pop %rbx\n .cfi_adjust_cfa_offset -8\n ret\n"
    " .cfi_endproc\n .size reads_second, . - reads_second\n .p2align 4\n"
    ".type skips, @function\n"
    "skips: .cfi_startproc\n mov (%rdi), %eax\n"
    " add $7, %rax\n ret\n .cfi_endproc\n .size skips, . - skips\n .p2align 4\n"
    ".type calls_first, @function\n"
    "calls_first: .cfi_startproc\n nop\n nop\n nop\n call *(%rdi)\n .cfi_adjust_cfa_offset 0\n add $1, %rax\n ret\n"
    " .cfi_endproc\n .size calls_first, . - calls_first\n .p2align 4\n"
    ".type divides_first, @function\n"
    "divides_first: .cfi_startproc\n idiv %rdi\n ret\n nop\n nop\n .cfi_endproc\n"
    " .size divides_first, . - divides_first\n"
    " .p2align 4\n"
    ".type traps_first, @function\n"
    "traps_first: .cfi_startproc\n xor %eax, %eax\n ud2\n ret\n nop\n .cfi_endproc\n"
    " .size traps_first, . - traps_first\n");

static const void* expected;
static long wrong, seen, value = 41;
static long (*const answer)(void) = answers;
static void* page;
static enum { MENDS, CONTINUES, MAPS, SKIPS, CALLS, JUMPS } how;
static sigjmp_buf behind;

long answers(void) { return 5; }

static void handle(int signal, siginfo_t* information, void* given) {
    greg_t* registers = ((ucontext_t*)given)->uc_mcontext.gregs;
    seen++;
    if (registers[REG_RIP] != (greg_t)expected) wrong++;
    if ((signal == SIGFPE || signal == SIGILL) && information->si_addr != expected) wrong++;
    switch (how) {
        case MENDS:
            registers[REG_RDI] = signal == SIGFPE ? 1 : (greg_t)&value;
            break;
        case CONTINUES:
            registers[REG_RIP] = (greg_t)fetched_none;
            break;
        case MAPS:
            mprotect(page, 4096, PROT_READ | PROT_WRITE);
            break;
        case SKIPS:
            registers[REG_RAX] = 1;
            registers[REG_RIP] = (greg_t)skips + load_bytes;
            break;
        case CALLS:
            registers[REG_RDI] = (greg_t)&answer;
            break;
        case JUMPS:
            siglongjmp(behind, 1);
    }
}

static long sum(long (*function)(const long*), const long* from) {
    long total = 0;
    int round;
    for (round = 0; round < ROUNDS; round++) total += function(from);
    return total;
}

int main(int count, char** names) {
    struct sigaction action;
    long total = 0;
    volatile int round;
    if (count > 1) {
        if (!strcmp(names[1], "first")) return (int)reads_first((const long*)16);
        if (!strcmp(names[1], "second")) return (int)reads_second((const long*)16);
        if (!strcmp(names[1], "call")) return (int)calls_first((long (*const*)(void))16);
        return (int)(!strcmp(names[1], "divide") ? divides_first(0) : traps_first());
    }
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    sigaction(SIGILL, &action, NULL);
    expected = (const void*)reads_first;
    how = MENDS, printf("mends %ld\n", sum(reads_first, NULL));
    how = CONTINUES, printf("continues %ld\n", sum(reads_first, (const long*)8));
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    how = MAPS, printf("maps %ld\n", sum(reads_first, page));
    expected = (const void*)skips;
    how = SKIPS, printf("skips %ld\n", sum(skips, NULL));
    expected = (const char*)reads_second + push_bytes;
    how = MENDS, printf("mends %ld\n", sum(reads_second, NULL));
    expected = (const char*)calls_first + 3;
    for (how = CALLS, round = 0; round < ROUNDS; round++) total += calls_first(NULL);
    printf("calls %ld\n", total);
    expected = (const void*)divides_first;
    for (how = MENDS, round = 0; round < ROUNDS; round++) divides_first(0);
    expected = (const char*)traps_first + 2;
    for (how = JUMPS, round = 0; round < ROUNDS; round++)
        if (sigsetjmp(behind, 1) == 0) traps_first();
    printf("seen %ld, wrong %ld\n", seen, wrong);
    return 0;
}
