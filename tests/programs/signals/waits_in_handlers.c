/* A handler of SIGUSR1 says in which thread it runs, and ends when it reads a byte; SIGUSR2 ends the program. */
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile sig_atomic_t ended;

static void on_user(int number) {
    char byte = syscall(SYS_gettid) == getpid() ? 'm' : 'o';
    (void)number;
    if (write(1, &byte, 1) != 1 || read(0, &byte, 1) != 1) _exit(1);
}
static void on_end(int number) { ended = number; }

int main(void) {
    struct sigaction action = {.sa_handler = on_user, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = on_end;
    sigaction(SIGUSR2, &action, NULL);
    if (write(1, "r", 1) != 1) return 1;
    while (!ended) pause();
    return 0;
}
