/* Threads come and go: joined, detached, ended by pthread_exit through frames with clean-up, cancelled. */
#include <pthread.h>
#include <semaphore.h>

#include "torture.h"

static pthread_key_t key;
static sem_t detached_is_done;
static volatile long cleaned, destroyed;

static void clean_up(void* by) { __atomic_fetch_add(&cleaned, (long)by, __ATOMIC_SEQ_CST); }
static void destroy(void* value) {
    __atomic_fetch_add(&destroyed, 1, __ATOMIC_SEQ_CST);
    counted((long)value);
}

TRACED void leave(long value) {
    pthread_cleanup_push(clean_up, (void*)1);
    if (value >= 0) pthread_exit((void*)(value + 1));
    pthread_cleanup_pop(0);
}
TRACED void* returns(void* value) { return (void*)recursive(5, (long)value); }
TRACED void* exits(void* value) {
    pthread_setspecific(key, value);
    counted(1);
    leave((long)value);
    return NULL;
}
TRACED void* waits(void* unused) {
    pthread_cleanup_push(clean_up, (void*)1);
    for (;;) pause();
    pthread_cleanup_pop(0);
    return unused;
}
TRACED void* is_detached(void* value) {
    *(long*)value = recursive(20, *(long*)value);
    sem_post(&detached_is_done);
    return NULL;
}

static long round_of(long number) {
    pthread_t threads[3];
    pthread_t alone;
    void* results[3];
    long by_detached = 3;
    const long cleaned_before = cleaned, destroyed_before = destroyed;
    pthread_create(&threads[0], NULL, returns, (void*)number);
    pthread_create(&threads[1], NULL, exits, (void*)(number + 1));
    pthread_create(&threads[2], NULL, waits, NULL);
    pthread_create(&alone, NULL, is_detached, &by_detached);
    pthread_detach(alone);
    pthread_cancel(threads[2]);
    for (int index = 0; index < 3; index++) pthread_join(threads[index], &results[index]);
    while (sem_wait(&detached_is_done) != 0) continue;
    check("detached", by_detached, 23);
    check("cancelled", results[2] == PTHREAD_CANCELED, 1);
    check("destroyed", destroyed - destroyed_before, 1);
    check("cleaned", cleaned - cleaned_before >= 1, 1); /* who is cancelled at once has nothing to clean */
    return (long)results[0] + (long)results[1] + number;
}

int main(int count, char** arguments) {
    pthread_key_create(&key, destroy);
    sem_init(&detached_is_done, 0, 0);
    return run_rounds(count, arguments, round_of);
}
