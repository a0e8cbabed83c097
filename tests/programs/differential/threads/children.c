/* Other processes: fork, vfork with and without exec, posix_spawn, system, popen, a daemon (fork twice, setsid). */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACED __attribute__((noinline))

extern char** environ;

TRACED int work(int value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}
TRACED int status_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
TRACED void in_child(int value) { _exit(work(value)); }
TRACED void run_true(void) {
    execl("/bin/true", "true", (char*)NULL);
    _exit(99);
}
TRACED int forks(int value) {
    pid_t child = fork();
    if (child == 0) in_child(value);
    return status_of(child);
}
TRACED int vforks(int value) {
    pid_t child = vfork();
    if (child == 0) in_child(value);
    work(value);
    return status_of(child);
}
TRACED int vfork_and_exec(void) {
    pid_t child = vfork();
    if (child == 0) run_true();
    work(1);
    return status_of(child);
}
TRACED int spawns(const char* command) {
    pid_t child;
    char* arguments[] = {"sh", "-c", (char*)command, NULL};
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ)) return -100;
    return status_of(child);
}
TRACED int reads(const char* command) {
    char line[64] = "";
    FILE* stream = popen(command, "r");
    char* got = fgets(line, sizeof line, stream);
    return pclose(stream) + (got ? (int)strlen(line) : 0);
}
TRACED int daemonises(void) {
    int ends[2];
    char byte = 0;
    if (pipe(ends)) return -1;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) {
            char answer = (char)work(work(40));
            if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr) &&
                write(ends[1], &answer, 1) != 1)
                _exit(1);
            exit(0);
        }
        _exit(work(2));
    }
    int status = status_of(child);
    close(ends[1]);
    return read(ends[0], &byte, 1) == 1 ? byte + status : -1;
}

int main(void) {
    for (int round = 0; round < 5; round++) {
        printf("%d %d %d ", forks(round), vforks(round), vfork_and_exec());
        printf("%d %d %d %d\n", spawns("exit 5"), system("exit 6") >> 8, reads("echo hello"), daemonises());
        fflush(stdout);
    }
    return work(2);
}
