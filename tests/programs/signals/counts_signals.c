/* Says how often it has handled SIGRTMIN for each line that it reads; one of its threads sleeps all the time. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile int handled;

static void on_signal(int number) {
    (void)number;
    __atomic_fetch_add(&handled, 1, __ATOMIC_SEQ_CST);
}

static void* sleep_on(void* unused) {
    while (1) pause();
    return unused;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    pthread_t thread;
    int byte;
    alarm(600);
    sigaction(SIGRTMIN, &action, NULL);
    pthread_create(&thread, NULL, sleep_on, NULL);
    puts("ready");
    fflush(stdout);
    while ((byte = getchar()) != EOF) {
        if (byte != '\n') continue;
        printf("%d\n", handled);
        fflush(stdout);
    }
    return 0;
}
