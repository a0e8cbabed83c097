/* 200 threads, all alive at the same moment, each of them in the middle of its calls; stacks of the smallest size. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#define TRACED __attribute__((noinline))
enum { THREADS = 200 };

static pthread_barrier_t all;

TRACED long leaf(long value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}
TRACED long descend(long depth) { return depth ? leaf(descend(depth - 1)) : (pthread_barrier_wait(&all), 0); }
TRACED void* run(void* number) {
    long sum = descend(20);
    for (long i = 0; i < 100; i++) sum += leaf((long)number);
    return (void*)sum;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_attr_t small;
    long total = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN + 16384);
    pthread_barrier_init(&all, NULL, THREADS);
    for (int round = 0; round < 3; round++) {
        for (long i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], &small, run, (void*)i)) return 1;
        for (int i = 0; i < THREADS; i++) {
            void* result;
            pthread_join(threads[i], &result);
            total += (long)result;
        }
    }
    printf("%ld\n", total);
    return 0;
}
