/* Threads call a function all the time, until SIGUSR1; then says whether each sum was right. A handler of SIGUSR2 says
   that it runs, and ends when it reads a byte. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "told.h"

#define MOST_THREADS 16

static volatile int wrong;

static void on_user(int number) {
    char byte = 'h';
    (void)number;
    if (write(1, &byte, 1) != 1 || read(0, &byte, 1) != 1) _exit(1);
}

__attribute__((noinline)) unsigned long step(unsigned long number) {
    __asm__ volatile("" ::: "memory");
    return 2 * number + 1;
}

static void* call_on(void* unused) {
    unsigned long count = 0, sum = 0;
    while (!told) sum += step(count++);
    if (sum != count * count) wrong = 1;
    return unused;
}

int main(int count, char** arguments) {
    pthread_t threads[MOST_THREADS];
    int others = count > 1 ? atoi(arguments[1]) : 0;
    run_until_told();
    signal(SIGUSR2, on_user);
    if (write(1, "r", 1) != 1) return 1;
    for (int i = 0; i < others; i++) pthread_create(&threads[i], NULL, call_on, NULL);
    call_on(NULL);
    for (int i = 0; i < others; i++) pthread_join(threads[i], NULL);
    return wrong;
}
