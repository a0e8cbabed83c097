/* 40,000 frames, more than a thread's frames that are caught; returns, a jump out, and again. Little stack is left. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

#define TRACED __attribute__((noinline))

static jmp_buf top;

TRACED long down(long levels) {
    long below = levels ? down(levels - 1) : 0;
    __asm__ volatile("" : "+r"(below));
    return below + levels;
}
TRACED long falls(long levels) {
    if (levels == 0) longjmp(top, 1);
    if (levels < 0) return 0;
    long below = falls(levels - 1);
    __asm__ volatile("" : "+r"(below));
    return below + 1;
}
TRACED void* run(void* unused) {
    volatile long sum = 0;
    for (volatile int round = 0; round < 3; round++) {
        sum += down(40000);
        if (setjmp(top) == 0) falls(40000);
        sum += down(10);
    }
    printf("%ld\n", sum);
    return unused;
}

int main(void) {
    pthread_t thread;
    run(NULL);
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    return 0;
}
