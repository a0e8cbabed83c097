/* Children that become another program: vfork and exec, vfork and a failed exec, posix_spawn, popen. */
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "torture.h"

extern char** environ;
static char* self;

static int status_of(pid_t child) {
    int status = -1;
    while (waitpid(child, &status, 0) < 0) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

TRACED int by_vfork(char** arguments) {
    pid_t child = vfork();
    if (child == 0) {
        execv(arguments[0], arguments);
        _exit(9);
    }
    return status_of(child);
}

TRACED int by_spawn(char** arguments) {
    pid_t child = -1;
    if (posix_spawn(&child, arguments[0], NULL, NULL, arguments, environ) != 0) return -1;
    return status_of(child);
}

TRACED int by_shell(int value) {
    char line[32];
    snprintf(line, sizeof line, "echo %d", value);
    FILE* output = popen(line, "r");
    int result = -1;
    if (output == NULL || fscanf(output, "%d", &result) != 1) result = -2;
    if (output != NULL) pclose(output);
    return result;
}

static long round_of(long number) {
    char text[16];
    char* arguments[] = {self, "child", text, NULL};
    char* nothing[] = {"/nothing/there", NULL};
    snprintf(text, sizeof text, "%ld", number % 40);
    counted(number);
    switch (number % 4) {
        case 0:
            check("vfork", by_vfork(arguments), number % 40 + 2);
            break;
        case 1:
            check("failed exec", by_vfork(nothing), 9);
            break;
        case 2:
            check("spawn", by_spawn(arguments), number % 40 + 2);
            break;
        default:
            check("shell", by_shell((int)number), number);
    }
    return 3 * number + 7;
}

int main(int count, char** arguments) {
    self = arguments[0];
    if (count == 3 && strcmp(arguments[1], "child") == 0) return (int)recursive(2, atol(arguments[2]));
    return run_rounds(count, arguments, round_of);
}
