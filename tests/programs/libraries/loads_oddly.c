/* Loads and unloads a library where that takes care: argv[2] says how. Says the sum of what it gave. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fenv.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define ROUNDS 20

static const char* path;
static volatile int over;
static int sum, wrong;

static void* load(void* unused) {
    void* library = dlopen(path, RTLD_NOW);
    int (*run)(int) = (int (*)(int))dlsym(library, "plugin_run");
    sum += run(1);
    dlclose(library);
    return unused;
}

/* Its own values lie on the alternate stack. */
static void load_in_handler(int number) {
    volatile char pattern[6000];
    for (int index = 0; index < 6000; index++) pattern[index] = (char)(index * number);
    load(NULL);
    for (int index = 0; index < 6000; index++) wrong += pattern[index] != (char)(index * number);
}

static void* set_ids(void* unused) {
    while (!over) {
        if (setuid(getuid()) || setgid(getgid())) wrong++;
        usleep(20); /* without a pause the other thread does nothing but to handle its signals */
    }
    return unused;
}

/* The C library sends each thread a signal for setuid, whose handler may use the alternate stack. */
static void on_alternate_stack(void) {
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    struct sigaction action = {.sa_handler = load_in_handler, .sa_flags = SA_ONSTACK};
    pthread_t thread;
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&thread, NULL, set_ids, NULL);
    for (int round = 0; round < ROUNDS; round++) raise(SIGUSR1);
    over = 1;
    pthread_join(thread, NULL);
}

static void filtered(void) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16384);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) wrong++;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_create(&thread, &attributes, load, NULL);
        pthread_join(thread, NULL);
    }
}

static void* load_last(void* main_thread) {
    pthread_join(*(pthread_t*)main_thread, NULL);
    load(NULL);
    printf("%d %d\n", sum, wrong);
    fflush(stdout);
    exit(0);
}

static void in_own_namespace(void) {
    wrong += _r_debug.r_brk == 0; /* it has a copy of that */
    void* library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
    int (*run)(int) = (int (*)(int))dlsym(library, "plugin_run");
    for (int round = 0; round < ROUNDS; round++) sum += run(1);
    dlclose(library);
}

int main(int count, char** arguments) {
    static pthread_t main_thread, thread;
    const char* how = count > 2 ? arguments[2] : "";
    path = arguments[1];
    if (!strcmp(how, "alternate")) on_alternate_stack();
    if (!strcmp(how, "filtered")) filtered();
    if (!strcmp(how, "namespace")) in_own_namespace();
    if (!strcmp(how, "floating")) {
        feenableexcept(FE_INEXACT);
        for (int round = 0; round < ROUNDS; round++) load(NULL);
        wrong += fegetexcept() != FE_INEXACT;
    }
    if (!strcmp(how, "last")) {
        main_thread = pthread_self();
        pthread_create(&thread, NULL, load_last, &main_thread);
        pthread_exit(NULL);
    }
    printf("%d %d\n", sum, wrong);
    return 0;
}
