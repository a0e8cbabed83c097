/* Starts programs that do not exist, in every way, and goes on. `starts_nothing HOW`: what a child of vfork does then.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MISSING "/nonexistent/program"

extern char** environ;
static char* arguments[] = {"program", NULL};

static int status_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int by_vfork(const char* how) {
    pid_t child = vfork();
    if (child == 0) {
        execv(MISSING, arguments);
        if (!strcmp(how, "exit")) exit(127);
        if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
        _exit(127);
    }
    return status_of(child);
}

static int by_spawn(void) {
    pid_t child = 0;
    return posix_spawn(&child, MISSING, NULL, NULL, arguments, environ) == ENOENT;
}

static int by_system(const char* command) {
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Not allowed, and done: the child comes back from here, on its parent's stack. */
static int returns_from_main(void) {
    pid_t child = vfork();
    if (child == 0) return 5;
    printf("returned %d\n", status_of(child));
    fflush(stdout);
    return 3;
}

int main(int argc, char** argv) {
    const char* how = argc > 1 ? argv[1] : "_exit";
    if (!strcmp(how, "return")) return returns_from_main();
    for (int round = 0; round < 3; round++) {
        printf("vfork %d\n", by_vfork(how));
        printf("spawn %d\n", by_spawn());
        printf("system %d %d\n", by_system(MISSING " 2>/dev/null"), by_system("exit 7"));
        fflush(stdout);
    }
    return 3;
}
