/* Four threads start programs by vfork and posix_spawn, again and again, while others call functions and start threads:
 * a child of vfork runs in its parent's memory, on the stack of the thread that waits for it. */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACED __attribute__((noinline))
enum { STARTERS = 4, ROUNDS = 6, CALLERS = 2, CALLS = 5000 };

extern char** environ;

TRACED long work(long value) {
    __asm__ volatile("" : "+r"(value));
    return value * 5 + 1;
}
TRACED void become(const char* program) {
    execl(program, program, (char*)NULL);
    _exit(7); /* there is no such program */
}
TRACED int status_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
TRACED int start(const char* program) {
    pid_t child = vfork();
    if (child == 0) become(program);
    return status_of(child);
}
TRACED int spawn(const char* program) {
    char* arguments[] = {(char*)program, NULL};
    pid_t child;
    if (posix_spawn(&child, program, NULL, NULL, arguments, environ)) return -100;
    return status_of(child);
}
TRACED void* starter(void* number) {
    long sum = (long)number;
    for (int round = 0; round < ROUNDS; round++) {
        sum += start("/bin/true") + 10 * start("/bin/false") + 100 * start("/no/such/program") + spawn("/bin/false");
        sum = work(sum) & 0xffff;
    }
    return (void*)sum;
}
TRACED void* caller(void* number) {
    long sum = (long)number;
    for (int i = 0; i < CALLS; i++) sum = work(sum) & 0xffff;
    return (void*)sum;
}

int main(void) {
    pthread_t threads[STARTERS + CALLERS];
    for (long i = 0; i < STARTERS + CALLERS; i++)
        if (pthread_create(&threads[i], NULL, i < STARTERS ? starter : caller, (void*)i)) return 1;
    for (int i = 0; i < STARTERS + CALLERS; i++) {
        void* result;
        pthread_join(threads[i], &result);
        printf("%ld ", (long)result);
    }
    puts("");
    return 0;
}
