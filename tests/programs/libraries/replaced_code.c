/* `replaced_code LIBRARY`: calls `plugin_run` of it until it is told, unloads it, and has breakpoint instructions of
 * its own where it was, each of which its handler of SIGTRAP counts. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "told.h"

#define PAGE 4096
#define RANGE 128

typedef int callback(int);

static sigjmp_buf back;
static volatile int traps;

static void trapped(int number) {
    (void)number;
    traps++;
    siglongjmp(back, 1);
}

int main(int argc, char** argv) {
    void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void* symbol = library ? dlsym(library, "plugin_run") : NULL;
    callback* run;
    char* page;
    if (!symbol) return 2;
    memcpy(&run, &symbol, sizeof run);
    run_until_told();
    puts("ready");
    fflush(stdout);
    while (!told) usleep(1000 * (run(1) > 0));
    dlclose(library);
    page = (char*)((uintptr_t)symbol & ~(uintptr_t)(PAGE - 1));
    if (mmap(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
             0) != page)
        return 3;
    memset(page, 0xcc, PAGE);
    signal(SIGTRAP, trapped);
    for (volatile int offset = 0; offset < RANGE; offset++) {
        void* place = (char*)symbol + offset;
        if ((char*)place >= page + PAGE) break;
        memcpy(&run, &place, sizeof run);
        if (!sigsetjmp(back, 1)) run(offset);
    }
    printf("%s\n", traps > 16 ? "each" : "few");
    return 0;
}
