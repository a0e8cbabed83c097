/* Every way to end. `exits HOW [NUMBER]`: return, exit, _exit, quick_exit, thread, thread-last N; raise, kill N; abort,
 * segv, fpe, trap. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int number;
static volatile int* nowhere;

static void* exit_in_thread(void* unused) {
    exit(number);
    return unused;
}

__attribute__((noinline)) int end(const char* how) {
    pthread_t thread;
    if (!strcmp(how, "exit")) exit(number);
    if (!strcmp(how, "_exit")) _exit(number);
    if (!strcmp(how, "quick_exit")) quick_exit(number);
    if (!strcmp(how, "thread")) pthread_create(&thread, NULL, exit_in_thread, NULL), pthread_join(thread, NULL);
    if (!strcmp(how, "thread-last")) pthread_create(&thread, NULL, exit_in_thread, NULL), pthread_exit(NULL);
    if (!strcmp(how, "raise")) raise(number);
    if (!strcmp(how, "kill")) kill(getpid(), number), pause();
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "segv")) return *nowhere;
    if (!strcmp(how, "fpe")) {
        int zero = 0;
        __asm__ volatile("" : "+r"(zero));
        return 100 / zero;
    }
    if (!strcmp(how, "trap")) __builtin_trap();
    return number;
}

int main(int argc, char** argv) {
    number = argc > 2 ? atoi(argv[2]) : 0;
    puts("here");
    fflush(stdout);
    return end(argc > 1 ? argv[1] : "return");
}
