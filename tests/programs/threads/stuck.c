/* Threads that wait for what never comes: two for a job, main for them. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t jobs;

__attribute__((noinline)) static int take(sem_t* from) {
    int failed = sem_wait(from);  // waits
    return failed ? -1 : 1;
}

static void* work(void* of) {
    int taken = 0;
    taken += take(of);  // asks
    return taken ? of : NULL;
}

int main(void) {
    pthread_t threads[2];
    sem_init(&jobs, 0, 0);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, &jobs);
    puts("begun");
    fflush(stdout);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);  // joins
    return 0;
}
