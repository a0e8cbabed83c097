/* Handlers on an alternate stack call functions while two threads are in the middle of calls of their own. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TRACED __attribute__((noinline))
enum { WANTED = 300 };

static volatile sig_atomic_t handled[2];
static volatile sig_atomic_t ready[2];
static __thread volatile sig_atomic_t* mine;

TRACED int in_handler(int value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}
TRACED void on_signal(int number) {
    (void)number;
    *mine = in_handler(*mine);
}
TRACED long inner(long value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}
TRACED long busy(long value) { return inner(value) - 1; }

static void* run(void* counter) {
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    mine = counter;
    sigaltstack(&stack, NULL);
    ready[mine - handled] = 1;
    for (long value = 0; *mine < WANTED; value++)
        if (busy(value) != value) abort();
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
    sigaction(SIGUSR2, &action, NULL);
    sigset_t block;
    sigemptyset(&block);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, run, (void*)&handled[i]);
    for (int i = 0; i < 2; i++) {
        while (!ready[i]) usleep(100); /* a handler needs `mine` */
        while (handled[i] < WANTED) {
            pthread_kill(threads[i], SIGUSR2);
            usleep(100);
        }
        pthread_join(threads[i], NULL);
    }
    puts("handled");
    return 0;
}
