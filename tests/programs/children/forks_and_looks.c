/* Forks all the time, until SIGUSR1. Each child looks into its memory; says how many had Strobe's agent in it and not
 * the unwinder, which the agent loads: the loader was, or may have been, at work. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "told.h"

static int look(void) {
    char line[4096];
    int has_agent = 0, has_unwinder = 0;
    FILE* maps = fopen("/proc/self/maps", "r");
    if (maps == NULL) return 2;
    while (fgets(line, sizeof line, maps)) {
        has_agent |= strstr(line, "frida-agent") != NULL;
        has_unwinder |= strstr(line, "libgcc_s") != NULL;
    }
    fclose(maps);
    return has_agent && !has_unwinder;
}

int main(void) {
    int between = 0, wrong = 0;
    run_until_told();
    dprintf(1, "ready\n");
    while (!told) {
        int status = -1;
        const pid_t child = fork();
        if (child == 0) _exit(look());
        while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
        between += status == 1 << 8;
        wrong += status != 0 && status != 1 << 8;
    }
    printf("%d between, %d wrong\n", between, wrong);
    return 0;
}
