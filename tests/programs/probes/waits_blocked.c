// Blocks all signals, unless it is told not to, and goes through a line for two seconds.
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static int step(int n) {
    int value = n;
    value++;  // short
    return value;
}

int main(int argc, char** argv) {
    sigset_t all;
    int sum = 0;
    sigfillset(&all);
    if (argc < 2) sigprocmask(SIG_BLOCK, &all, NULL);
    puts(argc < 2 ? "blocked" : argv[1]);
    fflush(stdout);
    for (int i = 0; i < 200; i++) {
        usleep(10000);
        sum += step(i);
    }
    printf("%d\n", sum);
}
