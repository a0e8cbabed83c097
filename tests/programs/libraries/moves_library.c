/* `moves_library LIBRARY`: loads it and waits for SIGUSR1. Then, in each of four rounds: calls `step` while the library
 * is there, unloads it, puts other memory where it was, calls `step` again, and loads it anew: in another place in
 * every second round, else where it was. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "told.h"

#define BYTES (5 << 12)

typedef int callback(int);

__attribute__((noinline)) static int step(int round, callback* run) {
    __asm__ volatile("" : "+r"(round) : "r"(run));
    return round;
}

static callback* run;
static char* base;

static void* load(const char* path) {
    void* library = dlopen(path, RTLD_NOW);
    void* symbol = library ? dlsym(library, "plugin_run") : NULL;
    struct link_map* map;
    memcpy(&run, &symbol, sizeof run);
    if (library && !dlinfo(library, RTLD_DI_LINKMAP, &map)) base = (char*)map->l_addr;
    return library;
}

int main(int argc, char** argv) {
    int moves = 0;
    void* library = argc > 1 ? load(argv[1]) : NULL;
    if (!library) return 2;
    run_until_told();
    puts("ready");
    fflush(stdout);
    while (!told) usleep(1000);
    for (int round = 1; round <= 4; round++) {
        char* before = base;
        run(round);
        step(round, run);
        dlclose(library);
        if (mmap(before, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
            before)
            return 3;
        memset(before, 0x77, BYTES);
        step(10 * round, run);
        if (round % 2 == 0) munmap(before, BYTES);
        library = load(argv[1]);
        if (!library) return 4;
        moves += base != before;
    }
    printf("moved %d times\n", moves);
    return 0;
}
