/* Becomes another run of itself, three times, from inside of calls and from a thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TRACED __attribute__((noinline))

static char* path;

TRACED int become(int round) {
    char number[16];
    snprintf(number, sizeof number, "%d", round);
    fflush(stdout);
    execl("/proc/self/exe", path, number, (char*)NULL);
    return 1;
}
TRACED void* in_thread(void* round) { return (void*)(long)become((int)(long)round); }

int main(int argc, char** argv) {
    int round = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t thread;
    path = argv[0];
    printf("run %d\n", round);
    if (round == 3) return 5;
    if (round == 1) return pthread_create(&thread, NULL, in_thread, (void*)2L), pthread_join(thread, NULL), 1;
    return become(round + 1);
}
