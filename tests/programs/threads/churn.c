/* 5,000 threads that live for two calls each, 8 at a time: more threads than a segment's table holds. */
#include <pthread.h>
#include <stdio.h>

#define TRACED __attribute__((noinline))
enum { BATCHES = 625, AT_ONCE = 8 };

TRACED long brief(long value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}
TRACED void* live(void* value) { return (void*)brief((long)value); }

int main(void) {
    long sum = 0;
    for (int batch = 0; batch < BATCHES; batch++) {
        pthread_t threads[AT_ONCE];
        void* result = NULL;
        for (long i = 0; i < AT_ONCE; i++)
            if (pthread_create(&threads[i], NULL, live, (void*)i)) return 1;
        for (int i = 0; i < AT_ONCE; i++) pthread_join(threads[i], &result), sum += (long)result;
    }
    printf("%ld\n", sum);
    return 0;
}
