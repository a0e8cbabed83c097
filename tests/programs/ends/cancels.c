// Threads that are cancelled within calls: where the program looks for it, at any instruction, and in a system call.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 20

static volatile int sum;
static int cleaned;
static const char* way;

__attribute__((noinline)) int work(int number, const char* text) {
    sum += number + (text != NULL);
    return number + 1;
}

__attribute__((noinline)) void nest(int depth) {
    if (depth > 0) {
        nest(depth - 1);
        sum++;
    }
    for (;;) {
        work(depth, "text");
        if (!strcmp(way, "deferred")) pthread_testcancel();
        if (!strcmp(way, "blocked")) pause();
    }
}

static void clean(void* text) {
    __sync_fetch_and_add(&cleaned, 1);
    work(1, text);
}

static void* run(void* begun) {
    int before;
    pthread_cleanup_push(clean, "clean");
    *(volatile int*)begun = 1;
    if (!strcmp(way, "asynchronous")) pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
    nest(5);
    pthread_cleanup_pop(1);
    return NULL;
}

int main(int count, char** arguments) {
    int cancelled = 0;
    way = count > 1 ? arguments[1] : "deferred";
    for (int i = 0; i < THREADS; i++) {
        volatile int begun = 0;
        pthread_t thread;
        void* result;
        pthread_create(&thread, NULL, run, (void*)&begun);
        while (!begun) usleep(10);
        usleep(i * 50);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("%d cancelled, %d cleaned\n", cancelled, cleaned);
    return 0;
}
