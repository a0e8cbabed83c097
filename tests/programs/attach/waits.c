/* The main thread waits in the way that the argument names, until SIGUSR1; another thread calls a function meanwhile.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <time.h>

#include "told.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int pipes[2];
static volatile int wrong;

__attribute__((noinline)) int step(int value) {
    __asm__ volatile("" : "+r"(value));
    return value * 5 + 1000;
}

static void* call(void* unused) {
    for (int value = 0; !told; value = (value + 1) % 1000) {
        wrong |= step(value) != value * 5 + 1000;
        usleep(1000);
    }
    wrong |= write(pipes[1], "", 1) != 1;
    sem_post(&semaphore);
    pthread_cond_signal(&condition);
    return unused;
}

static void timed_wait(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 100;
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&condition, &mutex, &until);
    pthread_mutex_unlock(&mutex);
}

int main(int count, char** arguments) {
    const char* how = count > 1 ? arguments[1] : "";
    char byte;
    pthread_t thread;
    fd_set set;
    struct epoll_event event;
    run_until_told();
    sem_init(&semaphore, 0, 0);
    if (pipe(pipes) != 0 || pthread_create(&thread, NULL, call, NULL) != 0) return 1;
    puts("ready");
    fflush(stdout);
    if (!strcmp(how, "nanosleep")) {
        nanosleep(&(struct timespec){100, 0}, NULL);
    } else if (!strcmp(how, "poll")) {
        poll(&(struct pollfd){.fd = pipes[0], .events = POLLIN}, 1, 100000);
    } else if (!strcmp(how, "select")) {
        FD_ZERO(&set);
        FD_SET(pipes[0], &set);
        select(pipes[0] + 1, &set, NULL, NULL, NULL);
    } else if (!strcmp(how, "epoll")) {
        epoll_wait(epoll_create1(0), &event, 1, -1);
        while (!told) pause();
    } else if (!strcmp(how, "read")) {
        if (read(pipes[0], &byte, 1) != 1) return 1;
    } else if (!strcmp(how, "join")) {
        pthread_join(thread, NULL);
    } else if (!strcmp(how, "semaphore")) {
        sem_wait(&semaphore);
    } else if (!strcmp(how, "timed wait")) {
        timed_wait();
    } else if (!strcmp(how, "spin")) {
        while (!told) continue;
    } else if (!strcmp(how, "clock")) {
        struct timespec now;
        while (!told) clock_gettime(CLOCK_MONOTONIC, &now);
    } else {
        return 1;
    }
    puts(wrong || !told ? "wrong" : "right");
    return 0;
}
