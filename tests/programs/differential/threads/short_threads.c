/* 10,000 threads, one after another and 16 at a time, detached or joined: no thread state may be left behind. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#define TRACED __attribute__((noinline))
enum { BATCHES = 625, AT_ONCE = 16 };

static sem_t ended;
static long sum;

TRACED long work(long value) { return __atomic_add_fetch(&sum, value, __ATOMIC_RELAXED); }
TRACED void* joined(void* value) {
    work((long)value);
    return NULL;
}
TRACED void* detached(void* value) {
    pthread_detach(pthread_self());
    work((long)value);
    sem_post(&ended);
    return NULL;
}

int main(void) {
    sem_init(&ended, 0, 0);
    for (int batch = 0; batch < BATCHES; batch++) {
        pthread_t threads[AT_ONCE];
        int joining = batch % 2;
        for (long i = 0; i < AT_ONCE; i++)
            if (pthread_create(&threads[i], NULL, joining ? joined : detached, (void*)i)) return 1;
        for (int i = 0; i < AT_ONCE; i++)
            if (joining)
                pthread_join(threads[i], NULL);
            else
                sem_wait(&ended);
    }
    printf("%ld\n", sum);
    return 0;
}
