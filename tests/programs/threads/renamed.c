/* A thread that has another name when it works than before and after. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

static int done;

__attribute__((noinline)) void begin(void) { done += 1; }
__attribute__((noinline)) void work(void) { done += 10; }
__attribute__((noinline)) void rest(void) { done += 100; }

static void* run(void* unused) {
    pthread_setname_np(pthread_self(), "waiting");
    begin();
    pthread_setname_np(pthread_self(), "working");
    work();
    pthread_setname_np(pthread_self(), "resting");
    return unused;
}

int main(int count, char** arguments) {
    pthread_t thread;
    (void)arguments;
    if (count > 5) rest();
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    printf("done %d\n", done);
    return 0;
}
