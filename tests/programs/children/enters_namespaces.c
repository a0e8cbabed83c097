/* Calls of unshare and setns that fail where the process has threads, and some that do not. How: the first argument. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN_STATUS 7

static pthread_barrier_t met;

__attribute__((noinline)) int before(int number) { return number + 1; }
__attribute__((noinline)) int after(int number) { return number + 2; }

static void tell(const char* what, int result) {
    printf("%s: %d %s\n", what, result, result == 0 ? "" : strerror(errno));
    fflush(stdout);
}

static void* wait_here(void* unused) {
    pthread_barrier_wait(&met);
    pthread_barrier_wait(&met);
    return unused;
}

static void unshare_beside_a_thread(void) {
    pthread_t thread;
    pthread_barrier_init(&met, NULL, 2);
    pthread_create(&thread, NULL, wait_here, NULL);
    pthread_barrier_wait(&met);
    tell("beside a thread", unshare(CLONE_NEWUSER));
    pthread_barrier_wait(&met);
    pthread_join(thread, NULL);
}

static void unshare_in_a_child(void) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        tell("in a child", unshare(CLONE_NEWUSER));
        _exit(3);
    }
    waitpid(child, &status, 0);
    tell("the child", WEXITSTATUS(status));
}

static void enter_own(const char* path, int kind) { tell(path, setns(open(path, O_RDONLY), kind)); }

int main(int count, char** words) {
    const char* how = count > 1 ? words[1] : "user";
    char line[16];
    printf("ready %d\n", before(1));
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL) return 1;
    if (strcmp(how, "undumpable") == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        tell("unshare", unshare(CLONE_NEWUSER));
        sleep(1); /* who has let it go on looks a little longer */
        unshare_beside_a_thread();
    }
    if (strcmp(how, "user") == 0) tell("unshare", unshare(CLONE_NEWUSER));
    if (strcmp(how, "mount") == 0) enter_own("/proc/self/ns/mnt", CLONE_NEWNS);
    if (strcmp(how, "mount of any kind") == 0) enter_own("/proc/self/ns/mnt", 0);
    if (strcmp(how, "network of any kind") == 0) enter_own("/proc/self/ns/net", 0);
    if (strcmp(how, "files") == 0) tell("files", unshare(CLONE_FILES));
    if (strcmp(how, "nothing") == 0) enter_own("/proc/self/ns/user", CLONE_NEWUSER); /* its own: EINVAL */
    if (strcmp(how, "thread") == 0) unshare_beside_a_thread();
    if (strcmp(how, "child") == 0) unshare_in_a_child();
    if (fgets(line, sizeof line, stdin) == NULL) return 1;
    printf("%d\n", after(1));
    return OWN_STATUS;
}
