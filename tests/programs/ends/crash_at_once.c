/* Eight threads fault, or abort, in the same moment. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 8

static pthread_barrier_t all;
static int aborts;
volatile int number;

__attribute__((noinline)) void touch(volatile int* at) {
    int value = number;
    if (aborts) abort();
    *at = value;
}

static void* work(void* given) {
    pthread_barrier_wait(&all);
    touch(given);
    return NULL;
}

int main(int count, char** words) {
    pthread_t threads[THREADS];
    aborts = count > 1 && !strcmp(words[1], "abort");
    pthread_barrier_init(&all, NULL, THREADS);
    for (int index = 0; index < THREADS; index++) pthread_create(&threads[index], NULL, work, NULL);
    for (int index = 0; index < THREADS; index++) pthread_join(threads[index], NULL);
    return 0;
}
