/* Built with -fsplit-stack: a function that finds too little stack gets some elsewhere, from __morestack, and gives it
   back when it returns. In a thread with a small stack, and in the main one. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) int fill(int value) {
    char room[3000];
    memset(room, value, sizeof room);
    __asm__ volatile("" ::"r"(room) : "memory");
    return room[value % 3000] + 1;
}

__attribute__((noinline)) int deep(int depth) {
    char room[2000];
    memset(room, depth & 63, sizeof room);
    __asm__ volatile("" ::"r"(room) : "memory");
    if (depth == 0) return fill(7);
    return deep(depth - 1) + room[depth];
}

static void* run(void* result) {
    int sum = 0;
    for (int round = 0; round < 20; round++) sum += deep(100) + fill(round);
    *(int*)result = sum;
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    int first = 0, second = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    if (pthread_create(&thread, &attributes, run, &first) != 0) return 1;
    pthread_join(thread, NULL);
    run(&second);
    printf("%d %d\n", first, second);
    return 0;
}
