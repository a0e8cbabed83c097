// Calls of `work`, and of a library that is loaded, on stacks with little room that end at a page which nobody may
// touch. `little_room load|thread|handler|first LIBRARY`
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROUNDS 10
#define HANDLER_ROOM 2048

static const char* path;
static volatile int sum;

__attribute__((noinline)) int work(int number) {
    sum += number;
    return number + 1;
}

static void* load(void* nothing) {
    void* library = dlopen(path, RTLD_NOW);
    int (*run)(int) = library ? (int (*)(int))dlsym(library, "plugin_run") : NULL;
    if (run) sum += run(1);
    if (library) dlclose(library);
    return nothing;
}

static void* work_often(void* nothing) {
    for (int number = 0; number < ROUNDS; number++) work(number);
    return nothing;
}

// As little as glibc lets a thread have, or 16 KB.
static void in_threads(void* (*run)(void*), int rounds) {
    long least = sysconf(_SC_THREAD_STACK_MIN);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, least > 16384 ? (size_t)least : 16384);
    for (int round = 0; round < rounds; round++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, run, NULL) == 0) pthread_join(thread, NULL);
    }
}

static void handle(int signal) { work(signal); }

// `room`: bytes beyond what the kernel needs.
static void in_handlers(size_t room) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = getauxval(AT_MINSIGSTKSZ) + room;
    size_t whole = (bytes + page - 1) / page * page;
    char* pages = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = pages + page, .ss_size = bytes};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_flags = SA_ONSTACK;
    action.sa_handler = handle;
    if (mprotect(pages, page, PROT_NONE) != 0 || sigaltstack(&stack, NULL) != 0) return;
    sigaction(SIGUSR1, &action, NULL);
    for (int round = 0; round < ROUNDS; round++) raise(SIGUSR1);
}

int main(int count, char** arguments) {
    if (count < 3) return 2;
    path = arguments[2];
    if (!strcmp(arguments[1], "load")) in_threads(load, ROUNDS);
    if (!strcmp(arguments[1], "thread")) in_threads(work_often, 1);
    if (!strcmp(arguments[1], "handler")) in_handlers(3 * HANDLER_ROOM);
    if (!strcmp(arguments[1], "first")) in_handlers(HANDLER_ROOM);
    printf("sum %d\n", sum);
    return 0;
}
