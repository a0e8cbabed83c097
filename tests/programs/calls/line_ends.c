/* Two threads that call functions whose first bytes lie across the end of a cache line, at every place where a jump
 * there would; until SIGUSR1, then says whether all results were right. At SIGUSR2 one more thread is vfork's parent,
 * and stops for nobody; its child, which has the same memory, ends as the others. */
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "told.h"

/* `skip` bytes behind the begin of a line; its first instruction is one byte, the next ones three and three. */
#define FUNCTION_AT(skip)                                                                                             \
    __asm__(".text\n.p2align 6\n.skip " #skip ", 0xcc\n.globl at_" #skip "\n.type at_" #skip ", @function\nat_" #skip \
            ":\n.cfi_startproc\npush %rbp\n.cfi_adjust_cfa_offset 8\nmov %rsp, %rbp\n"                                \
            "lea 1(%rdi), %eax\npop %rbp\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.size at_" #skip              \
            ", . - at_" #skip "\n");                                                                                  \
    int at_##skip(int value)

FUNCTION_AT(56);
FUNCTION_AT(57);
FUNCTION_AT(58);
FUNCTION_AT(59);
FUNCTION_AT(60);
FUNCTION_AT(61);
FUNCTION_AT(62);
FUNCTION_AT(63);

static int (*const functions[])(int) = {at_56, at_57, at_58, at_59, at_60, at_61, at_62, at_63};
static volatile int wrong;

static void* call_on(void* unused) {
    for (int value = 0; !told; value = (value + 1) % 1000000)
        for (int index = 0; index < 8; index++)
            if (functions[index](value) != value + 1) wrong = 1;
    return unused;
}

static void* wait_for_child(void* unused) {
    const pid_t child = vfork();
    if (child == 0) {
        while (!told) usleep(1000);
        _exit(0);
    }
    return unused;
}

static void begin_waiting(int number) {
    pthread_t thread;
    (void)number;
    pthread_create(&thread, NULL, wait_for_child, NULL);
    pthread_detach(thread);
}

int main(void) {
    pthread_t thread;
    run_until_told();
    signal(SIGUSR2, begin_waiting);
    prctl(PR_SET_NAME, "line \xff"); /* a name is any bytes */
    pthread_create(&thread, NULL, call_on, NULL);
    puts("ready");
    fflush(stdout);
    call_on(NULL);
    pthread_join(thread, NULL);
    puts(wrong ? "parent wrong" : "parent right");
    return wrong;
}
