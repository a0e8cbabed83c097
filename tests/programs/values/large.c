/* Structures of more and of less than 512 bytes are given to functions, in two threads. Argument: how often. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct part {
    int id;
    double weights[6];
};

struct small {
    int a;
    int b;
};

struct large {
    int used;
    struct part parts[20];
    struct small* chosen;
};

static int times;

__attribute__((noinline)) int use(struct large* at, struct small* of, int number) {
    at->used = number;
    of->a = number;
    __asm__ volatile("" : : "r"(at), "r"(of) : "memory");
    return of->b + number;
}

__attribute__((noinline)) struct large* get(struct large* at, int number) {
    at->parts[number % 20].id = number;
    return at;
}

static void* run(void* argument) {
    struct small small = {1, 2};
    struct large large = {0};
    int number;
    large.chosen = &small;
    for (number = 0; number < times; number++) use(get(&large, number), &small, number);
    return argument;
}

int main(int argc, char** argv) {
    pthread_t thread;
    times = argc > 1 ? atoi(argv[1]) : 300;
    pthread_create(&thread, NULL, run, NULL);
    run(NULL);
    pthread_join(thread, NULL);
    puts("done");
    return 0;
}
