/* Two threads make as many calls as the argument says, together: three quarters of step, one of turn. Prints sums. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) unsigned step(unsigned sum, unsigned index) {
    __asm__ volatile("" : "+r"(sum));
    return sum * 3 + index;
}

__attribute__((noinline)) unsigned turn(unsigned sum, unsigned index) {
    __asm__ volatile("" : "+r"(sum));
    return sum ^ (index << 7);
}

struct job {
    unsigned long rounds;
    unsigned sum;
    pthread_t thread;
};

static void* work(void* argument) {
    struct job* job = argument;
    unsigned sum = job->sum;
    for (unsigned long index = 0; index < job->rounds; index++) {
        sum = step(sum, (unsigned)index);
        sum = step(sum, 1);
        sum = turn(sum, (unsigned)index);
        sum = step(sum, 2);
    }
    job->sum = sum;
    return NULL;
}

int main(int count, char** arguments) {
    struct job jobs[2];
    unsigned long calls = count > 1 ? strtoul(arguments[1], NULL, 10) : 8;
    if (calls % 8 != 0) return 2;
    for (unsigned index = 0; index < 2; index++) {
        jobs[index] = (struct job){.rounds = calls / 8, .sum = index};
        if (pthread_create(&jobs[index].thread, NULL, work, &jobs[index])) return 3;
    }
    for (unsigned index = 0; index < 2; index++) pthread_join(jobs[index].thread, NULL);
    printf("%u %u\n", jobs[0].sum, jobs[1].sum);
    return 0;
}
