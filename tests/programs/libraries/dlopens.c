/* Loads the library that is named, calls it, unloads it. `dlopens LIBRARY` three times, 1,000 calls each;
 * `dlopens LIBRARY reload` again and again, `dlopens LIBRARY at-once` without a pause, `dlopens LIBRARY keep` once,
 * calling on, all until SIGUSR1; `dlopens LIBRARY leave` the same, and goes on without it until the next one. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "told.h"

static int (*run)(int);

static void* load(const char* path) {
    void* library = dlopen(path, RTLD_NOW);
    void* symbol = library ? dlsym(library, "plugin_run") : NULL;
    memcpy(&run, &symbol, sizeof run);
    return library;
}

static long use(int calls) {
    long sum = 0;
    for (int value = 0; value < calls; value++) sum += run(value);
    return sum;
}

int main(int argc, char** argv) {
    const char* mode = argc > 2 ? argv[2] : "";
    int wrong = 0, calls = 0;
    if (argc < 2) return 2;
    run_until_told();
    for (int round = 0; *mode ? !told : round < 3; round++) {
        void* library = load(argv[1]);
        if (!library) return 1;
        do {
            wrong += use(1000) != 1000000;
            if (calls++ == 0 && !strcmp(mode, "leave")) puts("ready"), fflush(stdout);
            if (*mode && strcmp(mode, "at-once")) usleep(100000);
        } while (!told && (!strcmp(mode, "keep") || !strcmp(mode, "leave")));
        dlclose(library);
    }
    if (!strcmp(mode, "leave")) {
        told = 0;
        puts("closed");
        fflush(stdout);
        while (!told) usleep(1000);
    }
    puts(wrong ? "wrong" : "right");
    return 0;
}
