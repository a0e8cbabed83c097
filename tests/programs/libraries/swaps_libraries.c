/* `swaps_libraries EVEN ODD`: loads one of them in even rounds and the other in odd ones, where the one before lay
   mostly, calls its `plugin_run` with the number of the round, and unloads it; until SIGUSR1. In every third round the
   place is taken by other memory first. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "told.h"

#define OTHER_BYTES 65536

int main(int argc, char** argv) {
    int wrong = 0, round;
    if (argc < 3) return 2;
    run_until_told();
    for (round = 0; !told; round++) {
        void* other = NULL;
        void* library = dlopen(argv[1 + round % 2], RTLD_NOW);
        void* symbol = library ? dlsym(library, "plugin_run") : NULL;
        int (*run)(int);
        if (!symbol) return 3;
        memcpy(&run, &symbol, sizeof run);
        wrong += run(round) != 2 * round + 1;
        dlclose(library);
        if (round % 3) continue;
        other = mmap(NULL, OTHER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(other, 0x5a, OTHER_BYTES);
        usleep(1000);
        munmap(other, OTHER_BYTES);
    }
    printf("%d wrong\n", wrong);
    return 0;
}
