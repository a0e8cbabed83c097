/* Children of a program of which another thread holds a lock of the C library while it forks. `forks_locks loader`: in
   dl_iterate_phdr; `exit`: in __cxa_finalize, as dlclose calls it, where it waits for fork. Says how many children
   ended as they should, of 20. */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 20
#define LARGE (64 << 20) /* so that fork takes a while */

extern void __cxa_finalize(void* library);

static volatile int done;
static sem_t inside, leave;

static int wait_here(struct dl_phdr_info* info, size_t bytes, void* unused) {
    (void)info, (void)bytes, (void)unused;
    sem_post(&inside);
    sem_wait(&leave);
    return 1;
}
static int count_one(struct dl_phdr_info* info, size_t bytes, void* count) {
    (void)info, (void)bytes;
    ++*(int*)count;
    return 0;
}

static void* hold_loader(void* unused) {
    dl_iterate_phdr(wait_here, NULL);
    return unused;
}
static void* hold_exit(void* unused) {
    static int no_library;
    sem_post(&inside);
    while (!done) __cxa_finalize(&no_library);
    return unused;
}

__attribute__((noinline)) int end_child(int is_loader) {
    int count = 0;
    alarm(20);
    if (is_loader) dl_iterate_phdr(count_one, &count);
    exit(is_loader && count < 2 ? 1 : 7);
}

int main(int count, char** arguments) {
    const int is_loader = count > 1 && !strcmp(arguments[1], "loader");
    char* memory = malloc(LARGE);
    int right = 0;
    pthread_t thread;
    memset(memory, 1, LARGE);
    sem_init(&inside, 0, 0);
    sem_init(&leave, 0, 0);
    pthread_create(&thread, NULL, is_loader ? hold_loader : hold_exit, NULL);
    sem_wait(&inside);
    for (int number = 0; number < CHILDREN; number++) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) end_child(is_loader);
        waitpid(child, &status, 0);
        right += status == 7 << 8;
    }
    done = 1;
    sem_post(&leave);
    pthread_join(thread, NULL);
    printf("%d right\n", right);
    return 0;
}
