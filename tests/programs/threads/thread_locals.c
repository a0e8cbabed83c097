// Four threads with values of their own, some in a library that is loaded later and that only the first one uses.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 4 };

struct Pair {
    int number;
    const char* text;
};

__thread int gLocal = 5;
_Thread_local struct Pair gPair = {1, "main"};
_Thread_local int64_t gZero;
_Thread_local char gName[16] = "main";
_Thread_local volatile int gSeen;
int gTids[THREADS];
pthread_barrier_t gBarrier;
int (*gUse)(int);

static void* run(void* argument) {
    const long index = (long)argument;
    gLocal = 100 + (int)index;
    gPair.number = 10 * (int)index;
    gPair.text = "thread";
    gZero -= index;
    snprintf(gName, sizeof gName, "thread %ld", index);
    gTids[index] = (int)syscall(SYS_gettid);
    pthread_barrier_wait(&gBarrier);  // all are there
    pthread_barrier_wait(&gBarrier);  // the library is loaded
    if (index == 0 && gUse != NULL) gUse(700);
    pthread_barrier_wait(&gBarrier);
    for (;;) {
        gSeen = gLocal;
        usleep(1000);
    }
    return NULL;
}

int main(int count, char** arguments) {
    pthread_t thread;
    pthread_barrier_init(&gBarrier, NULL, THREADS + 1);
    for (long index = 0; index < THREADS; index++) pthread_create(&thread, NULL, run, (void*)index);
    pthread_barrier_wait(&gBarrier);
    void* library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    if (library != NULL) gUse = (int (*)(int))dlsym(library, "use_local");
    pthread_barrier_wait(&gBarrier);
    pthread_barrier_wait(&gBarrier);
    if (count > 2 && library != NULL) {  // the same once more: what the threads have of it is of the one before
        dlclose(library);
        library = dlopen(arguments[1], RTLD_NOW);
    }
    puts("ready");
    fflush(stdout);
    pause();
    return gPair.number;
}
