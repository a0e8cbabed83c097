/* A signal handler forks at every instruction of a call, the recorder's among them: the trap flag makes a signal of
   each. The children go on from there. Prints whether they all ended well. It calls `hit` three times itself.
   With an argument the child of that step calls `hit` for a minute; its id is printed first. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define TRAP_FLAG 0x100

static volatile int in_child, stays, steps, bad;

__attribute__((noinline)) int hit(int value) {
    __asm__ volatile("nop; nop; nop; nop; nop" : "+r"(value));
    return value + 1;
}

static void step(int signal, siginfo_t* information, void* context) {
    int status = 0;
    pid_t child;
    steps++;
    child = fork();
    (void)signal, (void)information;
    if (child == 0) {
        in_child = 1;
        ((ucontext_t*)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
        return;
    }
    if (steps == stays) {
        printf("%d\n", (int)child);
        fflush(stdout);
    } else if (waitpid(child, &status, 0) != child || status != 0) {
        bad++;
    }
}

int main(int count, char** arguments) {
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    int sum = hit(0) + hit(1); /* from now on everything is there */
    if (count > 1) stays = atoi(arguments[1]);
    sigaction(SIGTRAP, &action, NULL);
    __asm__ volatile("leaq -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; leaq 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
    sum += hit(2);
    __asm__ volatile("leaq -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; leaq 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
    if (in_child && steps == stays) {
        for (alarm(60);; usleep(1000)) hit(0);
    }
    if (in_child) {
        for (int call = 0; call < 5; call++) sum += hit(call);
        _exit(sum == 6 + 15 ? 0 : 1);
    }
    printf("%s, %s\n", steps > 10 ? "many" : "few", bad ? "bad" : "right");
    return bad;
}
