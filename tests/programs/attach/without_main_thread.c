/* Its main thread ends before the other one, which goes on for a minute at most. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

static void* go_on(void* nothing) {
    (void)nothing;
    for (;;) usleep(1000);
    return NULL;
}

int main(void) {
    pthread_t other;
    alarm(60);
    pthread_create(&other, NULL, go_on, NULL);
    puts("ready");
    fflush(stdout);
    pthread_exit(NULL);
}
