/* `reloads LIBRARY`: loads it and calls `step` with the number of the round, then waits for SIGUSR1, unloads it and
   does so again; ends at SIGTERM. Says which round began, and where the library lies. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

#include "told.h"

__attribute__((noinline)) int step(int round) {
    __asm__ volatile("" : "+r"(round));
    return round;
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    run_until_told();
    signal(SIGTERM, on_told);
    for (int round = 1; told != SIGTERM; round++) {
        struct link_map* map = NULL;
        void* library = dlopen(argv[1], RTLD_NOW);
        if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map)) return 3;
        told = 0;
        step(round);
        printf("%d %#lx\n", round, (unsigned long)map->l_addr);
        fflush(stdout);
        while (!told) usleep(1000);
        if (dlclose(library)) return 4;
    }
    return 0;
}
