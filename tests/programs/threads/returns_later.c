/* At the first SIGUSR1 a thread calls hold within hold, 20 times, and stays there. At the second one another thread
   does the same with other, and the first returns meanwhile: to where it came from, with what it has calculated. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>

#define DEPTH 20

static sem_t inside, may_return;

__attribute__((noinline)) long hold(long depth) {
    if (depth != 0) return hold(depth - 1) + depth;
    sem_post(&inside);
    sem_wait(&may_return);
    return 0;
}

__attribute__((noinline)) long other(long depth, const pthread_t* first) {
    void* held = NULL;
    if (depth != 0) return other(depth - 1, first) - 1;
    sem_post(&may_return);
    pthread_join(*first, &held);
    return (long)(intptr_t)held + DEPTH;
}

static void* run_hold(void* argument) {
    (void)argument;
    return (void*)(intptr_t)hold(DEPTH);
}

static void* run_other(void* first) { return (void*)(intptr_t)other(DEPTH, first); }

static void await(void) {
    sigset_t told;
    int number;
    sigemptyset(&told);
    sigaddset(&told, SIGUSR1);
    sigprocmask(SIG_BLOCK, &told, NULL);
    sigwait(&told, &number);
}

int main(void) {
    pthread_t first, second;
    void* found;
    sem_init(&inside, 0, 0);
    sem_init(&may_return, 0, 0);
    puts("ready");
    fflush(stdout);
    await();
    pthread_create(&first, NULL, run_hold, NULL);
    sem_wait(&inside);
    puts("inside");
    fflush(stdout);
    await();
    pthread_create(&second, NULL, run_other, &first);
    pthread_join(second, &found);
    puts((intptr_t)found == DEPTH * (DEPTH + 1) / 2 ? "right" : "wrong");
    return 0;
}
