/* `spins`: the main thread never leaves a loop that calls nothing; `spins beside`: another thread does, and is joined;
 * `spins calls`: the main thread's loop calls a function.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static volatile int found;

__attribute__((noinline)) static int search(volatile int* place) {
    int steps = 0;
    while (*place == 0) steps++; /* spins */
    return steps;
}

__attribute__((noinline)) static int look(int number) {
    int steps = search(&found) + number; /* asks */
    __asm__ volatile("" : "+r"(steps));
    return steps;
}

__attribute__((noinline)) static int step(int number) {
    __asm__ volatile("" : "+r"(number));
    return number + 1;
}

__attribute__((noinline)) static int turn(void) {
    int steps = 0;
    while (found == 0) steps = step(steps);
    return steps;
}

static void* work(void* argument) { return look(1) ? argument : NULL; }

int main(int count, char** arguments) {
    puts("begun");
    fflush(stdout);
    if (count > 1 && strcmp(arguments[1], "beside") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL); /* joins */
        return 0;
    }
    if (count > 1) return turn();
    return look(count) == 0;
}
