/* A forked child writes over the entry of `changed`, calls it, and waits for SIGUSR1 with its parent, which only says
   that it is there. `kept` is called by both. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "told.h"

__attribute__((noinline, aligned(64))) int changed(int number) {
    volatile int copy = number;
    return copy + 1;
}

__attribute__((noinline, aligned(64))) int kept(int number) {
    volatile int copy = number;
    return copy + 2;
}

static int write_over(void) {
    static const unsigned char gives_42[] = {0xb8, 42, 0, 0, 0, 0xc3};
    const uintptr_t page = (uintptr_t)changed & ~(uintptr_t)4095;
    if (mprotect((void*)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) return 0;
    memcpy((void*)(uintptr_t)changed, gives_42, sizeof gives_42);
    return changed(1) == 42;
}

int main(void) {
    int status = -1;
    pid_t child;
    run_until_told();
    kept(1);
    child = fork();
    if (child == 0) {
        const int is_changed = write_over();
        dprintf(1, "%s\n", is_changed && kept(2) == 4 ? "ready" : "wrong");
        while (!told) usleep(1000);
        _exit(0);
    }
    while (!told) usleep(1000);
    kill(child, SIGUSR1);
    waitpid(child, &status, 0);
    return status != 0;
}
