/* Children, one after the other, each of which makes one traced call: `many_children NUMBER`. And one of a child. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACED __attribute__((noinline))

TRACED int in_child(int value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}
TRACED int in_grandchild(int value) {
    __asm__ volatile("" : "+r"(value));
    return value + 2;
}

/* The child comes back through this call, which is one of its parent. */
TRACED pid_t forks(void) { return fork(); }

static int status_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char** argv) {
    int number = argc > 1 ? atoi(argv[1]) : 1;
    int right = 0;
    for (int child = 0; child < number; child++) {
        pid_t id = forks();
        if (id == 0) {
            pid_t inner = child == 0 ? forks() : -1;
            if (inner == 0) _exit(in_grandchild(child));
            if (inner > 0) status_of(inner);
            _exit(in_child(child) & 63);
        }
        right += status_of(id) == ((child + 1) & 63);
    }
    printf("%d right\n", right);
    return 0;
}
