/* Says whom it permits to trace it: each call of prctl with PR_SET_PTRACER that goes through its own prctl, as an
 * interposed one would. Ends with its standard input. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int prctl(int option, ...) {
    unsigned long words[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++) words[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option != PR_SET_PTRACER) return (int)syscall(SYS_prctl, option, words[0], words[1], words[2], words[3]);
    printf("%lu\n", words[0]);
    fflush(stdout);
    return 0;
}

int main(void) {
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) continue;
    return 0;
}
