/* Loads a library again and again while a timer's handler interrupts it, and prints how often the handler called
 * `tick`. `loads_interrupted LIBRARY` */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static volatile long ticks;

__attribute__((noinline)) void tick(void) { ticks++; }

__attribute__((noinline)) int step(int value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

static void on_alarm(int signal_number) {
    (void)signal_number;
    tick();
}

__attribute__((noinline)) void load(const char* path) {
    void* library = dlopen(path, RTLD_NOW);
    if (library) dlclose(library);
}

int main(int argc, char** argv) {
    struct sigaction action;
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    int wrong = 0;
    if (argc < 2) return 2;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int round = 0; round < 40; round++) {
        load(argv[1]);
        for (int value = 0; value < 1000; value++) wrong |= step(value) != value + 1;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%ld\n", ticks);
    return wrong;
}
