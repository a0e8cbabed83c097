/* The main thread ends before its process does: alone, before another thread, by a system call with a status, or when
 * it is told to (SIGUSR1). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "told.h"

static pthread_t main_thread;

static void at_exit(void) {
    puts("handler");
    fflush(stdout);
}

static int in_thread(int value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

/* pthread_join of a main thread that has ended is allowed. */
static void* outlive(void* unused) {
    pthread_join(main_thread, NULL);
    printf("thread %d\n", in_thread(1));
    return unused;
}

int main(int argc, char** argv) {
    const char* how = argc > 1 ? argv[1] : "";
    pthread_t thread;
    main_thread = pthread_self();
    atexit(at_exit);
    puts("main");
    fflush(stdout);
    if (!strcmp(how, "status")) syscall(SYS_exit, 5);
    if (!strcmp(how, "thread")) pthread_create(&thread, NULL, outlive, NULL);
    if (!strcmp(how, "told")) run_until_told();
    while (!strcmp(how, "told") && !told) usleep(1000);
    pthread_exit(NULL);
}
