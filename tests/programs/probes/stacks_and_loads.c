/* `stacks_and_loads LIBRARY`: two threads call `leaf` through `between` again and again, one of them with the library's
   own callback in between, while the main thread loads and unloads another library 60 times. Says how often. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_int is_over;
static volatile int total;

__attribute__((noinline)) int leaf(int n) {
    total = n;
    return n + 1;
}

__attribute__((noinline)) int between(int n) {
    int found = leaf(n);
    __asm__ volatile("" : "+r"(found));
    return found + 1;
}

static void* work(void* argument) {
    while (!is_over) {
        int found = between(*(int*)argument);
        total = found;
    }
    return NULL;
}

int main(int argc, char** argv) {
    int numbers[] = {1, 2}, round;
    pthread_t threads[2];
    if (argc < 2) return 2;
    for (round = 0; round < 2; round++) pthread_create(&threads[round], NULL, work, &numbers[round]);
    for (round = 0; round < 60; round++) {
        void* library = dlopen(argv[1], RTLD_NOW);
        void* symbol = library ? dlsym(library, "plugin_run") : NULL;
        int (*run)(int);
        if (!symbol) return 3;
        memcpy(&run, &symbol, sizeof run);
        if (run(4) != 9) return 4;
        dlclose(library);
    }
    is_over = 1;
    for (round = 0; round < 2; round++) pthread_join(threads[round], NULL);
    printf("%d rounds\n", 60);
    return 0;
}
