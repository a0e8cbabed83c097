/* A child that calls and exits, while another thread of the parent calls too; then fork and exec. `forks [exec]` */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACED __attribute__((noinline))

static volatile int done;

TRACED int work(int value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}
TRACED int in_child(int value) { return work(value) + work(value); }
static void* keep_busy(void* unused) {
    for (int value = 0; !done; value++) work(value);
    return unused;
}

TRACED int child_status(int number, const char* program) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (program) execl(program, program, (char*)NULL);
        _exit(in_child(number) & 63);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(int argc, char** argv) {
    pthread_t thread;
    const char* program = argc > 1 && !strcmp(argv[1], "exec") ? "/bin/true" : NULL;
    pthread_create(&thread, NULL, keep_busy, NULL);
    for (int number = 0; number < 10; number++) printf("child %d\n", child_status(number, program)), fflush(stdout);
    done = 1;
    pthread_join(thread, NULL);
    return 0;
}
