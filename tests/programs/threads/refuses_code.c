/* Refuses memory that becomes executable (PR_SET_MDWE), then has as many threads at once as the argument says, each of
   which makes 100 calls. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#define SET_MDWE 65
#define REFUSES_EXECUTABLE 1

static pthread_barrier_t all_are_there;

__attribute__((noinline)) int hit(int value) {
    __asm__ volatile("nop; nop; nop; nop; nop" : "+r"(value));
    return value + 1;
}

static void* run(void* unused) {
    long sum = 0;
    pthread_barrier_wait(&all_are_there);
    for (int value = 0; value < 100; value++) sum += hit(value);
    pthread_barrier_wait(&all_are_there);
    return sum == 5050 ? unused : &all_are_there;
}

int main(int count, char** arguments) {
    const int threads = count > 1 ? atoi(arguments[1]) : 1;
    pthread_t* made = calloc((size_t)threads, sizeof *made);
    int wrong = 0;
    if (prctl(SET_MDWE, REFUSES_EXECUTABLE, 0, 0, 0) != 0) {
        puts("unknown");
        return 0;
    }
    pthread_barrier_init(&all_are_there, NULL, (unsigned)threads);
    for (int number = 0; number < threads; number++) wrong |= pthread_create(&made[number], NULL, run, NULL);
    for (int number = 0; number < threads; number++) {
        void* result = &wrong;
        wrong |= pthread_join(made[number], &result) != 0 || result != NULL;
    }
    puts(wrong ? "wrong" : "right");
    free(made);
    return 0;
}
