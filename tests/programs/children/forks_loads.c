/* Children that load libraries: by dlopen, and as the C library itself does in iconv_open. `forks_loads [threads]` */
#include <dlfcn.h>
#include <iconv.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 4

static void* wait_for_ever(void* unused) {
    for (;;) pause();
    return unused;
}

static int loads(int number) {
    void* library = dlopen("libz.so.1", RTLD_NOW);
    const char* (*version)(void);
    void* symbol = library ? dlsym(library, "zlibVersion") : NULL;
    iconv_t latin;
    if (!symbol) return 1;
    memcpy(&version, &symbol, sizeof version);
    if (!strlen(version())) return 2;
    dlclose(library);
    latin = iconv_open("UTF-16", "ISO-8859-15");
    if (latin == (iconv_t)-1) return 3;
    iconv_close(latin);
    return 10 + number;
}

int main(int argc, char** argv) {
    pthread_t thread;
    (void)argv;
    if (argc > 1) pthread_create(&thread, NULL, wait_for_ever, NULL);
    for (int number = 0; number < CHILDREN; number++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) _exit(loads(number));
        waitpid(child, &status, 0);
        printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
        fflush(stdout);
    }
    printf("parent %d\n", loads(0));
    return 0;
}
