/*
 * Threads that stand in the first five bytes of a function when its hook is placed. `stands_in_entries MODE` says "s"
 * when it is ready and goes on at each byte that it reads.
 *
 *   handler     reads from an unmapped address; the handler says "h", waits for a byte, and returns to the
 *               instruction with a better address
 *   alternate   the same, and the handler has a stack of its own
 *   elsewhere   the same, and it waits on another stack, as threads do that are in the agent
 *   suspended   a handler interrupts a coroutine and switches to another one, which says "h" and waits for a byte
 *   sealed      as handler, and nobody can write there while it waits
 *   waits       a thread waits in a system call; "a" is the answer to each byte but q
 *   vfork       a thread is vfork's parent, whose child waits until q; otherwise as above
 *
 * At the end it says "r" when all results were right, else "w".
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../../csrc/abi/strobe_abi.h"

#define FUNCTION(name, body)                                                                                      \
    __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" body "\n.size " #name \
            ", . - " #name "\n.p2align 4\n");

FUNCTION(loads, ".cfi_startproc\nnop\nmov (%rdi), %rax\nret\n.cfi_endproc")
long loads(const long* address);
FUNCTION(direct_read, ".cfi_startproc\nxor %eax, %eax\nsyscall\nret\n.cfi_endproc")
long direct_read(int file, void* bytes, size_t count);

static long cell = 42;
static int ends[2];

static void say(char letter) {
    if (write(1, &letter, 1) != 1) _exit(1);
}

static int heard(void) {
    char byte;
    return read(0, &byte, 1) == 1 ? byte : -1;
}

static void on_fault(int number, siginfo_t* information, void* context) {
    (void)number, (void)information;
    say('h');
    heard();
    ((ucontext_t*)context)->uc_mcontext.gregs[REG_RDI] = (long)&cell;
}

static int fault(int flags) {
    static char memory[1 << 16];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | flags};
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    say('s');
    heard();
    const long first = loads((const long*)8);
    return first == 42 && loads(&cell) == 42;
}

#define STACK_BYTES (1 << 17)

static void speak(void) {
    say('h');
    heard();
}

/* With a page on each side, as csrc/recorder/own_stacks.c has them. */
static void on_fault_elsewhere(int number, siginfo_t* information, void* context) {
    const size_t page = 4096;
    char* pages = mmap(NULL, STACK_BYTES + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long* note = (unsigned long*)(pages + page + STACK_BYTES - STROBE_STACK_NOTE_BYTES);
    ucontext_t here, other;
    (void)number, (void)information;
    mprotect(pages + page, STACK_BYTES, PROT_READ | PROT_WRITE);
    note[0] = STROBE_STACK_NOTE;
    note[1] = (unsigned long)__builtin_frame_address(0);
    getcontext(&other);
    other.uc_stack.ss_sp = pages + page;
    other.uc_stack.ss_size = STACK_BYTES - STROBE_STACK_NOTE_BYTES;
    other.uc_link = &here;
    makecontext(&other, speak, 0);
    swapcontext(&here, &other);
    ((ucontext_t*)context)->uc_mcontext.gregs[REG_RDI] = (long)&cell;
}

static int fault_elsewhere(void) {
    struct sigaction action = {.sa_sigaction = on_fault_elsewhere, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    say('s');
    heard();
    return loads((const long*)8) == 42 && loads(&cell) == 42;
}

FUNCTION(scans, ".cfi_startproc\nnop\nrep lodsb\nmovzbl %al, %eax\nret\n.cfi_endproc")
long scans(long unused, const char* from, long also_unused, size_t count);

static ucontext_t scanning, scheduling;
static volatile long scanned;

static void on_timer(int number) {
    (void)number;
    swapcontext(&scanning, &scheduling);
}

static void scan(void) {
    const size_t bytes = 1 << 25;
    char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 42, bytes);
    const struct itimerval soon = {.it_value = {.tv_usec = 1000}};
    setitimer(ITIMER_VIRTUAL, &soon, NULL);
    scanned = scans(0, memory, 0, bytes);
}

static int suspended(void) {
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    char* stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaction(SIGVTALRM, &action, NULL);
    getcontext(&scanning);
    scanning.uc_stack.ss_sp = stack;
    scanning.uc_stack.ss_size = STACK_BYTES;
    scanning.uc_link = &scheduling;
    makecontext(&scanning, scan, 0);
    say('s');
    heard();
    swapcontext(&scheduling, &scanning);
    if (scanned != 0) return 0; /* it was not interrupted */
    speak();
    swapcontext(&scheduling, &scanning);
    return scanned == 42 && scans(0, stack, 0, 1) == stack[0];
}

static char* shared;
static volatile int stands, may_go_on;

/* Nothing is written to the stack while others seal it. */
static void on_sealed_fault(int number, siginfo_t* information, void* context) {
    (void)number, (void)information;
    ((ucontext_t*)context)->uc_mcontext.gregs[REG_RDI] = (long)&cell;
    stands = 1;
    while (!may_go_on) __asm__ volatile("pause");
}

static void* seals(void* unused) {
    while (!stands) usleep(1000);
    mprotect(shared, STACK_BYTES, PROT_READ);
    say('h');
    heard();
    mprotect(shared, STACK_BYTES, PROT_READ | PROT_WRITE);
    may_go_on = 1;
    return unused;
}

static int sealed_fault(void) {
    shared = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const stack_t stack = {.ss_sp = shared, .ss_size = STACK_BYTES};
    struct sigaction action = {.sa_sigaction = on_sealed_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    pthread_t thread;
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    say('s');
    heard();
    pthread_create(&thread, NULL, seals, NULL);
    const int right = loads((const long*)8) == 42 && loads(&cell) == 42;
    pthread_join(thread, NULL);
    return right;
}

static void* waits(void* unused) {
    char byte = 0;
    (void)unused;
    return (void*)(long)(direct_read(ends[0], &byte, 1) == 1 && byte == 'e');
}

static void* forks(void* unused) {
    char byte;
    (void)unused;
    const pid_t child = vfork();
    if (child == 0) {
        while (read(ends[0], &byte, 1) < 0) continue;
        _exit(0);
    }
    int status = 1;
    return (void*)(long)(waitpid(child, &status, 0) == child && status == 0);
}

__attribute__((noinline)) void answer(void) { say('a'); }

static int in_thread(void* (*function)(void*)) {
    pthread_t thread;
    void* right = NULL;
    if (pipe(ends) || pthread_create(&thread, NULL, function, NULL)) return 0;
    say('s');
    for (int byte = heard(); byte != 'q' && byte >= 0; byte = heard()) answer();
    if (write(ends[1], "e", 1) != 1) return 0;
    pthread_join(thread, &right);
    return right != NULL;
}

int main(int count, char** arguments) {
    const char* mode = count > 1 ? arguments[1] : "";
    int right = 0;
    alarm(120);
    if (strcmp(mode, "handler") == 0) right = fault(0);
    if (strcmp(mode, "alternate") == 0) right = fault(SA_ONSTACK);
    if (strcmp(mode, "elsewhere") == 0) right = fault_elsewhere();
    if (strcmp(mode, "suspended") == 0) right = suspended();
    if (strcmp(mode, "sealed") == 0) right = sealed_fault();
    if (strcmp(mode, "waits") == 0) right = in_thread(waits);
    if (strcmp(mode, "vfork") == 0) right = in_thread(forks);
    say(right ? 'r' : 'w');
    return 0;
}
