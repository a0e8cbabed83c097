/* A thread and, once the test has renamed `step`, a function with control characters in their names. */
#define _GNU_SOURCE
#include <pthread.h>

__attribute__((noinline)) int step(int number) {
    __asm__ volatile("");
    return number + 1;
}

static void* run(void* unused) {
    pthread_setname_np(pthread_self(), "a\n} main\033[31m");
    step(1);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    return step(2);
}
