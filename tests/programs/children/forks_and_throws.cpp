// A function forks, and jumps to another one, which throws or returns: in parent and child. Prints the child's status.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

static volatile int sink;

__attribute__((noinline)) int last(int number) {
    sink = number;
    if (number % 3 == 0) throw number;
    return number + sink;
}

__attribute__((noinline)) int forks(int number) {
    sink = number;
    const pid_t child = fork();
    int status = 0;
    if (child != 0) {
        waitpid(child, &status, 0);
        std::printf("child %d\n", status);
        std::fflush(stdout);
    }
    return last(number);  // at -O2 a jump
}

__attribute__((noinline)) int outer(int number) {
    try {
        return forks(number) + 1;
    } catch (int) {
        return -1;
    }
}

int main() {
    const pid_t own = getpid();
    for (int number = 3; number < 5; number++) {
        sink = outer(number);
        if (getpid() != own) _exit(0);
    }
    return 0;
}
