/* Gives up reading the time stamp counter, which its child inherits. Prints the child's status. */
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int hit(int value) {
    __asm__ volatile("nop; nop; nop; nop; nop" : "+r"(value));
    return value + 1;
}

int main(void) {
    int status = -1, sum = hit(1);
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0) return 1;
    pid_t child = fork();
    if (child == 0) _exit(hit(sum) != 3);
    waitpid(child, &status, 0);
    printf("%x\n", status);
    return 0;
}
