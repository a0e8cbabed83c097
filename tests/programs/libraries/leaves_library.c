/* `leaves_library LIBRARY`: loads it, calls `step`, and at SIGUSR1 unloads it and ends at once. */
#include <dlfcn.h>

#include "told.h"

__attribute__((noinline)) int step(int round) {
    __asm__ volatile("" : "+r"(round));
    return round;
}

int main(int argc, char** argv) {
    void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) return 2;
    run_until_told();
    step(1);
    while (!told) usleep(1000);
    dlclose(library);
    _exit(0);
}
