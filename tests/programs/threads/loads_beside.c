/* A thread loads a library and unloads it, all the time. For each line of input the main thread opens one as well, and
 * says whether the other one came back from a call meanwhile. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_ulong calls;

static void* load_on(void* path) {
    for (;;) {
        void* library = dlopen(path, RTLD_NOW);
        calls++;
        if (library) dlclose(library);
        calls++;
    }
    return NULL;
}

int main(int count, char** arguments) {
    pthread_t thread;
    char line[16];
    if (count < 2 || pthread_create(&thread, NULL, load_on, arguments[1]) != 0) return 2;
    while (calls < 10) {
    }
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        unsigned long before = calls;
        dlclose(dlopen(NULL, RTLD_NOW));
        puts(calls == before ? "still" : "moved");
        fflush(stdout);
    }
    return 0;
}
