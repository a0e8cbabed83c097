/* `comes_and_goes LIBRARY [MICROSECONDS]`: at each SIGUSR1 it loads the library, or unloads it, and says so; with the
   library it calls `step` and the library's `plugin_run`. So long after it was unloaded the program stops itself. Ends
   at SIGTERM. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "told.h"

int own_number = 7;

__attribute__((noinline)) int step(int round) {
    __asm__ volatile("" : "+r"(round));
    return round;
}

static void* load(const char* path) {
    void* library = dlopen(path, RTLD_NOW);
    void* symbol = library ? dlsym(library, "plugin_run") : NULL;
    int (*run)(int);
    if (!symbol) exit(3);
    memcpy(&run, &symbol, sizeof run);
    step(run(4));
    return library;
}

int main(int argc, char** argv) {
    void* library = NULL;
    const useconds_t pause = argc > 2 ? (useconds_t)atoi(argv[2]) : 0;
    if (argc < 2) return 2;
    run_until_told();
    signal(SIGTERM, on_told);
    puts("ready"), fflush(stdout);
    while (told != SIGTERM) {
        if (!told) {
            usleep(1000);
            continue;
        }
        told = 0;
        if (library == NULL) {
            library = load(argv[1]);
            puts("loaded"), fflush(stdout);
            continue;
        }
        dlclose(library);
        library = NULL;
        if (pause) usleep(pause), raise(SIGSTOP);
        puts("gone"), fflush(stdout);
    }
    return 0;
}
