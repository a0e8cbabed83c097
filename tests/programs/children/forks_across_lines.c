/* Forks all the time, until SIGUSR1. Each child calls functions whose first bytes lie across the end of a cache line,
 * at every place where a jump of five bytes there would. Says how many children did not end as they should. */
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>

#include "told.h"

#define CHILD_SECONDS 20

/* `skip` bytes behind the begin of a line; its first instruction is one byte, the next ones three and three. */
#define FUNCTION_AT(skip)                                                                                             \
    __asm__(".text\n.p2align 6\n.skip " #skip ", 0xcc\n.globl at_" #skip "\n.type at_" #skip ", @function\nat_" #skip \
            ":\n.cfi_startproc\npush %rbp\n.cfi_adjust_cfa_offset 8\nmov %rsp, %rbp\n"                                \
            "lea 1(%rdi), %eax\npop %rbp\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.size at_" #skip              \
            ", . - at_" #skip "\n");                                                                                  \
    int at_##skip(int value)

FUNCTION_AT(57);
FUNCTION_AT(58);
FUNCTION_AT(59);
FUNCTION_AT(60);
FUNCTION_AT(61);
FUNCTION_AT(62);

static int (*const functions[])(int) = {at_57, at_58, at_59, at_60, at_61, at_62};

static void end_child(void) {
    int sum = 0;
    alarm(CHILD_SECONDS);
    for (int index = 0; index < 6; index++) sum += functions[index](index);
    _exit(sum == 21 ? 7 : 1);
}

int main(void) {
    int wrong = 0;
    run_until_told();
    puts("ready");
    fflush(stdout);
    while (!told) {
        int status = -1;
        const pid_t child = fork();
        if (child == 0) end_child();
        while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
        if (status != 7 << 8) wrong++;
    }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
