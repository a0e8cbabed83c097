/* Two threads fork all the time, others sleep, until SIGUSR1: `forks_always LIBRARY`. Each child loads the library, or
   looks through those that there are, and ends by exit. Says how many children did not end as they should. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "told.h"

#define FORKING 2
#define THREADS 50
#define CHILD_SECONDS 20

static const char* library;
static int wrong;

static void rest(void) {
    struct timespec pause = {0, 10000000};
    nanosleep(&pause, NULL);
}

static int count_one(struct dl_phdr_info* info, size_t bytes, void* count) {
    (void)info, (void)bytes;
    ++*(int*)count;
    return 0;
}

__attribute__((noinline)) void end_child(int number) {
    int count = 0;
    void* handle = NULL;
    signal(SIGUSR1, SIG_DFL);
    alarm(CHILD_SECONDS);
    if (number % 2) handle = dlopen(library, RTLD_NOW);
    if (handle != NULL) dlclose(handle);
    if (number % 2 == 0) dl_iterate_phdr(count_one, &count);
    exit(handle != NULL || count > 2 ? 7 : 1);
}

static void* fork_on(void* unused) {
    for (int number = 0; !told; number++) {
        int status = -1;
        const pid_t child = fork();
        if (child == 0) end_child(number);
        while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
        if (status == 7 << 8) continue;
        __atomic_fetch_add(&wrong, 1, __ATOMIC_SEQ_CST);
        dprintf(1, "child %d: %x\n", number, status); /* children would print what lies in stdout's buffer */
    }
    return unused;
}

static void* sleep_on(void* unused) {
    while (!told) rest();
    return unused;
}

int main(int count, char** arguments) {
    pthread_t threads[THREADS];
    library = count > 1 ? arguments[1] : "";
    run_until_told();
    dprintf(1, "ready\n");
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, i < FORKING ? fork_on : sleep_on, NULL);
    sleep_on(NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
