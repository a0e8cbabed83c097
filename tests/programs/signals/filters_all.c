/* Filters the system calls of all its threads at once (TSYNC), and ends by any but a few. Calls before(), and after()
   in three threads. "twice": two threads filter at once; "later": one that has a filter of its own already. "told":
   prints "ready", filters when it gets SIGUSR1, prints "filtered", and ends at SIGUSR2; "own": likewise, for its first
   thread alone. "busy": one more thread calls meanwhile() from right before the filter on, and what Strobe calls before
   it runs a script takes its time; "slow": likewise, and two threads filter their own calls meanwhile: "early" is
   printed where one goes on before it is over. Prints "right" and ends with 3. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3
#define CALLS 1000
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int arrived, is_filtered, may_filter, may_end, is_busy, is_slow, is_in_pause, is_early, pauses;
static volatile sig_atomic_t is_told, is_to_end;

static void on_signal(int number) { *(number == SIGUSR1 ? &is_told : &is_to_end) = 1; }

__attribute__((noinline)) long before(long number) {
    __asm__ volatile("" : "+r"(number));
    return number + 1;
}

__attribute__((noinline)) long never(long number) {
    __asm__ volatile("" : "+r"(number));
    return number - 1;
}

__attribute__((noinline)) long after(long number) {
    __asm__ volatile("" : "+r"(number));
    return number + 1;
}

__attribute__((noinline)) long meanwhile(long number) {
    __asm__ volatile("" : "+r"(number));
    return number + 1;
}

static void pause_for(long milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&time, &time) != 0) continue;
}

static void await(int* flag, int value) {
    while (__atomic_load_n(flag, __ATOMIC_SEQ_CST) < value) pause_for(1);
}

static void say(const char* text) {
    if (write(1, text, strlen(text)) < 0) _exit(4);
}

__attribute__((visibility("default"))) int pthread_setcancelstate(int state, int* before) {
    if (state == PTHREAD_CANCEL_DISABLE && __atomic_load_n(&is_busy, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&is_in_pause, 1, __ATOMIC_SEQ_CST);
        pause_for(is_slow ? 700 : 100);
        __atomic_store_n(&is_in_pause, 0, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&pauses, 1, __ATOMIC_SEQ_CST);
    }
    if (before != NULL) *before = PTHREAD_CANCEL_ENABLE;
    return 0;
}

static int set_filter(unsigned flags) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_nanosleep),
        ALLOW(SYS_clock_nanosleep),
        ALLOW(SYS_seccomp),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0;
}

static void set_slow_filter(void) {
    int before = __atomic_load_n(&pauses, __ATOMIC_SEQ_CST);
    int is_awaited = __atomic_load_n(&is_in_pause, __ATOMIC_SEQ_CST);
    if (!set_filter(0)) _exit(5);
    if (is_awaited && __atomic_load_n(&pauses, __ATOMIC_SEQ_CST) == before) is_early = 1;
}

static void* work(void* unused) {
    __atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
    await(&is_filtered, 1);
    for (long call = 0; call < CALLS; call++) after(call);
    __atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
    await(&may_end, 1); /* for ever: its end would need more */
    return unused;
}

static void* filter_too(void* unused) {
    __atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
    await(&may_filter, 1);
    if (is_slow)
        set_slow_filter();
    else
        set_filter(SECCOMP_FILTER_FLAG_TSYNC); /* fails where the other thread was first */
    __atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
    await(&may_end, 1);
    return unused;
}

static void* call_meanwhile(void* unused) {
    await(&is_busy, 1);
    for (long call = 0; __atomic_load_n(&is_busy, __ATOMIC_SEQ_CST); call++) meanwhile(call);
    await(&may_end, 1);
    return unused;
}

int main(int count, char** arguments) {
    const char* how = count > 1 ? arguments[1] : "once";
    int threads = THREADS + (!strcmp(how, "twice") || !strcmp(how, "slow"));
    int is_to_be_busy = !strcmp(how, "busy") || !strcmp(how, "slow");
    int is_asked = !strcmp(how, "told") || !strcmp(how, "own");
    pthread_t thread;
    if (count > 2) return (int)never(count);
    is_slow = !strcmp(how, "slow");
    signal(SIGUSR1, on_signal);
    signal(SIGUSR2, on_signal);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (int i = 0; i < threads; i++) pthread_create(&thread, NULL, i < THREADS ? work : filter_too, NULL);
    if (is_to_be_busy) pthread_create(&thread, NULL, call_meanwhile, NULL);
    await(&arrived, threads);
    for (long call = 0; call < CALLS; call++) before(call);
    if (is_asked) say("ready\n");
    while (is_asked && !is_told) pause_for(1);
    __atomic_store_n(&is_busy, is_to_be_busy, __ATOMIC_SEQ_CST);
    if (is_to_be_busy) pause_for(150);
    may_filter = 1;
    if (is_slow) {
        set_slow_filter();
        pause_for(1200); /* the other's */
        say(is_early ? "early\n" : "right\n");
        _exit(3);
    }
    if (!strcmp(how, "later") && !set_filter(0)) return 1;
    if (!set_filter(strcmp(how, "own") ? SECCOMP_FILTER_FLAG_TSYNC : 0) && strcmp(how, "twice")) return 1;
    if (is_asked) say("filtered\n");
    __atomic_store_n(&is_busy, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&is_filtered, 1, __ATOMIC_SEQ_CST);
    await(&arrived, 2 * threads);
    while (is_asked && !is_to_end) pause_for(1);
    pause_for(300);
    say("right\n");
    _exit(3);
}
