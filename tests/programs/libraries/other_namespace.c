/* `other_namespace FILE`: calls `mine` three times, forks a child into the PID namespace that FILE is, which calls
 * `childs` 300,000 times, and calls `mine` three times more. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static int mine(int value) {
    __asm__ volatile("" : "+r"(value));
    return value;
}

__attribute__((noinline)) static int childs(int value) {
    __asm__ volatile("" : "+r"(value));
    return value;
}

int main(int argc, char** argv) {
    int file = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    int status = 0;
    pid_t child;
    for (int call = 0; call < 3; call++) mine(call);
    if (setns(file, CLONE_NEWPID)) return perror("setns"), 2;
    child = fork();
    if (child == 0) {
        for (int call = 0; call < 300000; call++) childs(call);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return 3;
    for (int call = 3; call < 6; call++) mine(call);
    return status != 0;
}
