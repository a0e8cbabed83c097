// Threads that load and unload a library are cancelled, where untraced no place looks for that but the one at the end
// of a round. `cancels_loads LIBRARY`
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS 60

static const char* path;
static volatile int within;

static void note(void* nothing) {
    (void)nothing;
    within++;
}

static void* run(void* begun) {
    for (;;) {
        void* library;
        int state, before;
        pthread_cleanup_push(note, NULL);
        library = dlopen(path, RTLD_NOW);
        *(volatile int*)begun = 1;
        if (library) dlclose(library);
        pthread_cleanup_pop(0);
        // as the thread had it
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
        pthread_setcancelstate(state, &before);
        if (state != PTHREAD_CANCEL_ENABLE || before != PTHREAD_CANCEL_DISABLE) note(NULL);
        pthread_testcancel();
    }
    return NULL;
}

int main(int count, char** arguments) {
    int cancelled = 0;
    if (count < 2) return 2;
    path = arguments[1];
    for (int i = 0; i < THREADS; i++) {
        volatile int begun = 0;
        pthread_t thread;
        void* result;
        pthread_create(&thread, NULL, run, (void*)&begun);
        while (!begun) usleep(10);
        usleep((useconds_t)i * 100);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("%d cancelled, %d within\n", cancelled, within);
    return 0;
}
