/* Another thread than the main one makes it itself again, 50 times a second, for a minute at most. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void* become(void* arguments) {
    usleep(20000);
    execv("/proc/self/exe", arguments);
    return NULL;
}

__attribute__((noinline)) long step(long number) {
    __asm__ volatile("" ::: "memory");
    return number + 1;
}

int main(int count, char** arguments) {
    static char* again[] = {"execs_in_thread", "again", NULL};
    pthread_t thread;
    if (count == 1) {
        alarm(60); /* goes on through exec */
        puts("ready");
        fflush(stdout);
    }
    pthread_create(&thread, NULL, become, again);
    for (long number = 0; arguments != NULL; usleep(1000)) number = step(number);
    return 0;
}
