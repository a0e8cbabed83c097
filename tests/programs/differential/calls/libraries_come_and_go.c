/* Loads the library that is named, calls it from three threads at once and unloads it, again and again, while a fourth
 * thread calls functions of the program and a fifth loads and unloads another library. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define TRACED __attribute__((noinline))
enum { ROUNDS = 10, USERS = 3, CALLS = 400 };

static pthread_barrier_t loaded, used;
static int (*run)(int);

TRACED long own(long value) {
    __asm__ volatile("" : "+r"(value));
    return value * 3 + 1;
}
TRACED long use(void) {
    long sum = 0;
    for (int i = 0; i < CALLS; i++) sum += run(i);
    return sum;
}
TRACED void* user(void* number) {
    long sum = (long)number;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&loaded);
        sum += use();
        pthread_barrier_wait(&used);
        for (int i = 0; i < CALLS; i++) sum = own(sum) & 0xffffff; /* while it is unloaded */
    }
    return (void*)sum;
}
TRACED void* caller(void* number) {
    long sum = (long)number;
    for (int i = 0; i < 10 * ROUNDS * CALLS; i++) sum = own(sum) & 0xffffff;
    return (void*)sum;
}
TRACED void* other_loader(void* number) {
    long sum = (long)number;
    for (int round = 0; round < ROUNDS; round++) {
        void* library = dlopen("libutil.so.1", RTLD_LAZY);
        sum = own(sum + (library != NULL)) & 0xffffff;
        if (library) dlclose(library);
    }
    return (void*)sum;
}
TRACED int one_round(const char* path) {
    void* library = dlopen(path, RTLD_NOW);
    void* symbol = library ? dlsym(library, "plugin_run") : NULL;
    if (!symbol) return 1;
    memcpy(&run, &symbol, sizeof run);
    pthread_barrier_wait(&loaded);
    pthread_barrier_wait(&used);
    return dlclose(library);
}

int main(int argc, char** argv) {
    pthread_t threads[USERS + 2];
    int failed = argc < 2;
    pthread_barrier_init(&loaded, NULL, USERS + 1);
    pthread_barrier_init(&used, NULL, USERS + 1);
    for (long i = 0; i < USERS + 2; i++)
        if (pthread_create(&threads[i], NULL, i < USERS ? user : i == USERS ? caller : other_loader, (void*)i))
            return 1;
    for (int round = 0; round < ROUNDS && !failed; round++) failed = one_round(argv[1]);
    if (failed) return 1;
    for (int i = 0; i < USERS + 2; i++) {
        void* result;
        pthread_join(threads[i], &result);
        printf("%ld ", (long)result);
    }
    puts("");
    return 0;
}
