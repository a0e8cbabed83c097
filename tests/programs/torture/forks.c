/* Children that work, load a library and fork again, of a program whose other thread works meanwhile. */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>

#include "torture.h"

static volatile int stop;

static void* work(void* unused) {
    for (long number = 0; !stop; number++) {
        check("thread", recursive(10, number), number + 10);
        counted(number);
        wait_a_little(200);
    }
    return unused;
}

static int status_of(pid_t child) {
    int status = -1;
    while (waitpid(child, &status, 0) < 0) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

TRACED int in_child(long number) {
    long sum = recursive(number % 7, number);
    if (number % 4 == 0) {
        void* library = dlopen(plugin_path, RTLD_NOW);
        long (*run)(long) = library ? (long (*)(long))dlsym(library, "plugged_run") : NULL;
        if (run == NULL || run(1) != 88) return 99;
        dlclose(library);
    }
    if (number % 8 == 3) {
        pid_t child = fork();
        if (child == 0) _exit((int)recursive(3, 4));
        if (status_of(child) != 7) return 98;
    }
    return sum == number + number % 7 ? (int)(number % 50) : 97;
}

static long round_of(long number) {
    pid_t child = fork();
    if (child == 0) {
        const int status = in_child(number);
        if (number % 16 == 5) exit(status);
        _exit(status);
    }
    check("child", status_of(child), number % 50);
    return 3 * number + 7;
}

int main(int count, char** arguments) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    const int status = run_rounds(count, arguments, round_of);
    stop = 1;
    pthread_join(thread, NULL);
    printf("last counted %ld\n", gCounted);
    return status;
}
