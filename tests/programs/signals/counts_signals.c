/* Says how often it has handled SIGRTMIN for each line that it reads; one of its threads sleeps all the time. With a
 * library: that thread loads it, and is the one that handles them. Built with -DLIBRARY -shared -fPIC: a library whose
 * constructor never ends. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#ifdef LIBRARY
__attribute__((constructor)) static void load(void) {
    while (1) usleep(100);
}
#else

static volatile int handled;

static void on_signal(int number) {
    (void)number;
    __atomic_fetch_add(&handled, 1, __ATOMIC_SEQ_CST);
}

static void* sleep_on(void* library) {
    if (library) dlopen(library, RTLD_NOW);
    while (1) pause();
    return library;
}

int main(int count, char** arguments) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    pthread_t thread;
    sigset_t own;
    int byte;
    alarm(600);
    sigaction(SIGRTMIN, &action, NULL);
    pthread_create(&thread, NULL, sleep_on, count > 1 ? arguments[1] : NULL);
    sigemptyset(&own);
    if (count > 1) sigaddset(&own, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &own, NULL);
    puts("ready");
    fflush(stdout);
    while ((byte = getchar()) != EOF) {
        if (byte != '\n') continue;
        printf("%d\n", handled);
        fflush(stdout);
    }
    return 0;
}
#endif
