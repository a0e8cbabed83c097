// Two threads count steps: for ever, or until the second one crashes behind its fourth.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static volatile int total;
static int is_endless;

__attribute__((noinline)) static int step(int key) {
    total += key;
    return total;
}

static void* work(void* nowhere) {
    for (int key = 0; key < 4 || is_endless; key++) step(key & 0xffff);
    printf("four\n");
    fflush(stdout);
    *(volatile int*)nowhere = 1;
    return 0;
}

int main(int argc, char** argv) {
    pthread_t thread;
    is_endless = argc > 1 && strcmp(argv[1], "endless") == 0;
    step(100);
    step(101);
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    return 0;
}
