/* A thread loads a library and unloads it, all the time, until SIGUSR1; then says whether it was right each time. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "told.h"

static volatile int wrong;

static void* load_on(void* path) {
    while (!told) {
        void* library = dlopen(path, RTLD_NOW);
        int (*run)(int) = library ? (int (*)(int))dlsym(library, "plugin_run") : NULL;
        if (run == NULL || run(4) != 9) wrong = 1;
        if (library) dlclose(library);
    }
    return NULL;
}

int main(int count, char** arguments) {
    pthread_t thread;
    run_until_told();
    puts("ready");
    fflush(stdout);
    pthread_create(&thread, NULL, load_on, arguments[count - 1]);
    pthread_join(thread, NULL);
    puts(wrong ? "wrong" : "right");
    return 0;
}
