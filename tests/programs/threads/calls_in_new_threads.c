/* For each byte that it reads from a pipe, a new thread that calls a function 10,000 times. */
#include <pthread.h>
#include <stdio.h>

__attribute__((noinline)) int called(int value) {
    __asm__ volatile("" : "+r"(value));
    return value * 5 + 1000;
}

static void* calls(void* given) {
    for (int value = 0; value < 10000; value++) called(value);
    return given;
}

int main(int count, char** arguments) {
    FILE* pipe = count > 1 ? fopen(arguments[1], "r") : NULL;
    if (pipe == NULL) return 1;
    while (getc(pipe) != EOF) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, calls, NULL) != 0 || pthread_join(thread, NULL) != 0) return 2;
        puts("done");
        fflush(stdout);
    }
    return 0;
}
