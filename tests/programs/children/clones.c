// Children that share the memory and the control block of the thread that makes them, and run at the same time.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define CHILDREN 30
#define STACK_BYTES 65536

static volatile int sum;

__attribute__((noinline)) int work(int number) {
    sum += number;
    return number + 1;
}

__attribute__((noinline)) int descend(int depth) {
    int result = depth == 0 ? 0 : descend(depth - 1) + 1;
    for (int i = 0; i < 20; i++) work(i);
    return result;
}

static int descend_often(void* unused) {
    int result = 0;
    (void)unused;
    for (int i = 0; i < 30; i++) result += descend(10);
    return result / 10;
}

int main(int count, char** arguments) {
    const int on_own_stack = count > 1 && arguments[1][0] == 'o';
    char room[STACK_BYTES];
    int right = 0;
    for (int i = 0; i < CHILDREN; i++) {
        char* stack = on_own_stack ? room : malloc(STACK_BYTES);
        int status = 0;
        pid_t child = clone(descend_often, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL);
        right += descend_often(NULL) == 30;
        right += waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 30;
        if (!on_own_stack) free(stack);
    }
    printf("%d right\n", right);
    return 0;
}
