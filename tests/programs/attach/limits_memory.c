/* Limits its own addresses to less than Strobe takes, by the call that the argument names. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MB (1ul << 20)

__attribute__((noinline)) int limit(const char* call) {
    struct rlimit limit = {.rlim_cur = 600 * MB, .rlim_max = RLIM_INFINITY};
    if (strcmp(call, "setrlimit") == 0) return setrlimit(RLIMIT_AS, &limit);
    if (strcmp(call, "prlimit") == 0) return prlimit(getpid(), RLIMIT_DATA, &limit, NULL);
    if (strcmp(call, "system call") == 0) return (int)syscall(SYS_prlimit64, 0, RLIMIT_AS, &limit, NULL);
    getrlimit(RLIMIT_CORE, &limit); /* none of memory */
    limit.rlim_cur = 0;
    return setrlimit(RLIMIT_CORE, &limit);
}

int main(int count, char** arguments) {
    int result = limit(count > 1 ? arguments[1] : "");
    printf("%d\n", result);
    return 0;
}
