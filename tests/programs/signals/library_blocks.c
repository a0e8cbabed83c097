/* `library_blocks threads | spawns | system`: the C library makes threads and processes, for which it blocks all
 * signals past its own functions, while `place` leads nowhere. */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { TIMES = 10, PAGE = 4096 };

struct place {
    long value;
};

struct place* place;
extern char** environ;

static void* twice(void* number) { return (void*)((long)number * 2); }

static long threads(void) {
    long sum = 0;
    for (long number = 0; number < TIMES; number++) {
        pthread_t thread;
        void* result = NULL;
        if (pthread_create(&thread, NULL, twice, (void*)number) != 0) return -1;
        pthread_join(thread, &result);
        sum += (long)result;
    }
    return sum;
}

static long spawns(void) {
    long right = 0;
    for (int number = 0; number < TIMES; number++) {
        char* words[] = {(char*)"true", NULL};
        int status = -1;
        pid_t child;
        if (posix_spawn(&child, "/bin/true", NULL, NULL, words, environ) == 0) waitpid(child, &status, 0);
        right += status == 0;
    }
    return right;
}

int main(int argc, char** argv) {
    long result = 0;
    place = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(place, PAGE);
    if (argc > 1 && !strcmp(argv[1], "threads")) result = threads();
    if (argc > 1 && !strcmp(argv[1], "spawns")) result = spawns();
    if (argc > 1 && !strcmp(argv[1], "system")) result = system("exit 3");
    printf("%ld\n", result);
    return 4;
}
