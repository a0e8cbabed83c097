/* A thread has given up reading the time stamp counter, and goes on calling functions, making threads and children,
   loading a library (argument 2), or limiting memory, as argument 1 says: `calls`, `threads`, `forks`, `loads` or
   `limits`. The main thread calls functions, too. `main`: it is the main thread itself, which waits in system calls. */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "told.h"

static const char* way;
static const char* library;
static volatile int gave_up, wrong;

__attribute__((noinline)) int hit(int value) {
    __asm__ volatile("nop; nop; nop; nop; nop" : "+r"(value));
    return value + 1;
}

__attribute__((noinline)) int timed(int value) {
    __asm__ volatile("nop; nop; nop; nop; nop" : "+r"(value));
    return value + 2;
}

static void* hit_once(void* argument) {
    wrong |= hit(6) != 7;
    return argument;
}

static void make_thread(void) {
    pthread_t thread;
    wrong |= pthread_create(&thread, NULL, hit_once, NULL) != 0 || pthread_join(thread, NULL) != 0;
}

static void make_child(void) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) _exit(hit(1) != 2);
    wrong |= waitpid(child, &status, 0) != child || status != 0;
}

static void load(void) {
    void* handle = dlopen(library, RTLD_NOW);
    int (*run)(int) = handle != NULL ? (int (*)(int))dlsym(handle, "plugin_run") : NULL;
    if (run != NULL) run(1);
    wrong |= handle == NULL || dlclose(handle) != 0;
}

static void limit(void) {
    struct rlimit most = {(rlim_t)1 << 46, RLIM_INFINITY};
    wrong |= setrlimit(RLIMIT_AS, &most) != 0;
}

static void* call(void* unused) {
    wrong |= prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0;
    gave_up = 1;
    while (!told) {
        for (int value = 0; value < 100; value++) wrong |= hit(value) != value + 1;
        if (strcmp(way, "threads") == 0) make_thread();
        if (strcmp(way, "forks") == 0) make_child();
        if (strcmp(way, "loads") == 0) load();
        if (strcmp(way, "limits") == 0) limit();
        usleep(1000);
    }
    return unused;
}

/* Neither call may end before its time, but by the signal. */
static void wait_in_main(void) {
    const struct timespec time = {0, 20000000};
    wrong |= prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0;
    puts("ready");
    fflush(stdout);
    while (!told) {
        wrong |= nanosleep(&time, NULL) != 0 && !told;
        wrong |= poll(NULL, 0, 20) != 0 && !told;
        wrong |= hit(1) != 2;
    }
    puts(wrong ? "wrong" : "right");
}

int main(int count, char** arguments) {
    pthread_t thread;
    way = count > 1 ? arguments[1] : "calls";
    library = count > 2 ? arguments[2] : "";
    run_until_told();
    if (strcmp(way, "main") == 0) {
        wait_in_main();
        return 0;
    }
    if (pthread_create(&thread, NULL, call, NULL) != 0) return 1;
    while (!gave_up) usleep(1000);
    puts("ready");
    fflush(stdout);
    while (!told) {
        wrong |= timed(1) != 3;
        usleep(1000);
    }
    pthread_join(thread, NULL);
    puts(wrong ? "wrong" : "right");
    return 0;
}
