// A timer's handler forks while the program loads and unloads a library; the child returns from it, goes on, and ends.
// `forks_interrupted LIBRARY`
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 20
#define CHILD_S 20

static volatile sig_atomic_t is_child, children;
static pid_t forked[CHILDREN];

static void set_timer(int microseconds) {
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_alarm(int signal_number) {
    pid_t child;
    if (is_child || children == CHILDREN) return;
    child = fork();
    if (child > 0) forked[children++] = child;
    if (child != 0) return;
    is_child = 1;
    set_timer(0);
    signal(signal_number, SIG_DFL);
    alarm(CHILD_S);  // it hangs
}

int main(int count, char** arguments) {
    struct sigaction action;
    int right = 0;
    if (count < 2) return 2;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    set_timer(3000);
    while (!is_child && children < CHILDREN) {
        void* library = dlopen(arguments[1], RTLD_NOW);
        if (library) dlclose(library);
    }
    if (is_child) _exit(7);
    set_timer(0);
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        right += waitpid(forked[i], &status, 0) == forked[i] && WIFEXITED(status) && WEXITSTATUS(status) == 7;
    }
    printf("%d right\n", right);
    return 0;
}
