/* One thread calls `slow` all the time, where a script may run. Another one forks, again and again; each child calls
 * `step` while a timer's handler interrupts it, and calls `tick`. Prints how often, in all children. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 10
#define TICKS 100
#define APART_US 5000

static volatile int ended;
static volatile int ticks;

__attribute__((noinline)) void tick(void) { ticks++; }

__attribute__((noinline)) int step(int value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

__attribute__((noinline)) int slow(int value) {
    __asm__ volatile("" : "+r"(value));
    return value + 2;
}

static void on_alarm(int number) {
    (void)number;
    if (ticks < TICKS) tick();
}

static void* call_slow(void* unused) {
    for (int value = 0; !ended; value++) slow(value);
    return unused;
}

static int child(void) {
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (int value = 0; ticks < TICKS; value = (value + 1) % 1000000) step(value);
    setitimer(ITIMER_REAL, &never, NULL);
    return 0;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    pthread_t thread;
    int right = 0;
    sigaction(SIGALRM, &action, NULL);
    pthread_create(&thread, NULL, call_slow, NULL);
    for (int number = 0; number < CHILDREN; number++) {
        int status = 1;
        pid_t pid;
        usleep(APART_US); /* the other thread gets into its script */
        pid = fork();
        if (pid == 0) _exit(child());
        if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0) right++;
    }
    ended = 1;
    pthread_join(thread, NULL);
    printf("%d\n", right * TICKS);
    return 0;
}
