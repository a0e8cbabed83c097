/* Direct and mutual recursion, 100 and 5,000 deep, in the main thread and in another. */
#include <pthread.h>
#include <stdio.h>

#define TRACED __attribute__((noinline))

TRACED long down(long levels) {
    long below = levels ? down(levels - 1) : 0;
    __asm__ volatile("" : "+r"(below));
    return below + levels;
}

long pong(long levels);
TRACED long ping(long levels) {
    long below = levels ? pong(levels - 1) : 0;
    __asm__ volatile("" : "+r"(below));
    return below + 1;
}
TRACED long pong(long levels) {
    long below = levels ? ping(levels - 1) : 0;
    __asm__ volatile("" : "+r"(below));
    return below + 2;
}

static void* run(void* name) {
    printf("%s: %ld %ld\n", (char*)name, down(100), down(5000));
    printf("%s: %ld %ld\n", (char*)name, ping(100), ping(5000));
    return NULL;
}

int main(void) {
    pthread_t thread;
    run("main");
    pthread_create(&thread, NULL, run, "other");
    pthread_join(thread, NULL);
    return 0;
}
