/* Ends by a signal, in the way it is told, in a tree of calls: main, walk (three times), visit. Or goes on after it,
   and then ends in another way. */
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
    int key;
    struct node* next;
    int (*order)(const struct node*);
};

static const char* how;
static sigjmp_buf back;
static char room[65536];
volatile int zero;
volatile int sink;

static void hand_on(int number) {
    signal(number, SIG_DFL);
    raise(number);
}
static void give_up(int number) {
    (void)number;
    abort();
}
static void go_back(int number) { siglongjmp(back, number); }
static void come_back(int number) { (void)number; }

__attribute__((noinline)) int visit(struct node* at, int depth) {
    if (!strcmp(how, "read")) return at->next->next->key;                    /* read */
    if (!strcmp(how, "write")) at->next->key = depth;                        /* write */
    if (!strcmp(how, "call")) return at->order(at);                          /* call */
    if (!strcmp(how, "divide")) return depth / zero;                         /* divide */
    if (!strcmp(how, "trap")) __builtin_trap();                              /* trap */
    if (!strcmp(how, "abort")) abort();                                      /* abort */
    if (!strcmp(how, "assert")) assert(at->key == 5);                        /* assert */
    if (!strcmp(how, "library")) return (int)strlen((char*)at->next + zero); /* library */
    if (!strcmp(how, "sent")) raise(SIGSEGV);                                /* sent */
    if (!strcmp(how, "raise")) raise(SIGABRT);                               /* raise */
    if (!strcmp(how, "watchdog")) kill(getpid(), SIGABRT);
    if (!strcmp(how, "debugger")) __asm__("int3");
    if (!strcmp(how, "killed")) kill(getpid(), SIGKILL);
    return at->key;
}

__attribute__((noinline)) int walk(struct node* at, int depth) {
    int found;
    if (depth == 3) return visit(at, depth);
    found = walk(at, depth + 1);
    return found + zero;
}

__attribute__((noinline)) int deeper(volatile int* above) {
    volatile int room[256];
    room[0] = *above + 1;
    return deeper(room) + room[0];
}

static void handle(void (*handler)(int), const char* where) {
    struct sigaction action = {0};
    stack_t aside = {.ss_sp = room, .ss_size = sizeof room};
    action.sa_handler = handler;
    if (!strcmp(where, "aside")) {
        sigaltstack(&aside, NULL);
        action.sa_flags = SA_ONSTACK;
    }
    sigaction(SIGSEGV, &action, NULL);
}

static void block(void) {
    sigset_t fault;
    sigemptyset(&fault);
    sigaddset(&fault, SIGSEGV);
    sigprocmask(SIG_BLOCK, &fault, NULL);
    how = "write";
}

static void* run(void* argument) {
    struct node node = {4, NULL, NULL};
    sink = !strcmp(how, "overflow") ? deeper(&zero) : walk(argument ? argument : &node, 0);
    return NULL;
}

int main(int argc, char** argv) {
    const char* handler = argc > 2 ? argv[2] : "";
    const char* more = argc > 3 ? argv[3] : "";
    pthread_t thread;
    how = argv[1];
    if (!strcmp(handler, "hands-on")) handle(hand_on, more);
    if (!strcmp(handler, "gives-up")) handle(give_up, more);
    if (!strcmp(handler, "goes-back")) {
        signal(SIGSEGV, go_back);
        if (sigsetjmp(back, 1)) {
            how = "abort";
            run(NULL);
        }
    }
    if (!strcmp(handler, "recovers") || !strcmp(handler, "recovers-aside")) {
        handle(go_back, handler + strlen("recovers-") - !strcmp(handler, "recovers"));
        if (!sigsetjmp(back, 1)) run(NULL);
        how = more;
        if (!strcmp(how, "exec")) execl(argv[0], argv[0], "overflow", (char*)NULL);
        if (!strcmp(how, "blocked")) block();
        if (!strcmp(how, "sent")) signal(SIGSEGV, SIG_DFL);
    }
    if (!strcmp(handler, "outlives")) {
        signal(SIGABRT, go_back);
        if (!sigsetjmp(back, 1)) {
            how = "assert";
            run(NULL);
        }
        signal(SIGABRT, SIG_DFL);
        how = argv[1];
    }
    if (!strcmp(handler, "outlives-once")) {
        struct sigaction action = {0};
        action.sa_handler = go_back;
        action.sa_flags = (int)(SA_RESETHAND | SA_NODEFER);
        sigaction(SIGABRT, &action, NULL);
        if (!sigsetjmp(back, 0)) run(NULL);
        kill(getpid(), SIGABRT);
    }
    if (!strcmp(handler, "comes-back")) signal(SIGABRT, come_back);
    if (!strcmp(handler, "ignores")) signal(SIGFPE, SIG_IGN);
    puts(how);
    fflush(stdout);
    if (strcmp(handler, "thread") && strcmp(more, "thread")) {
        run(NULL);
    } else {
        pthread_create(&thread, NULL, run, NULL);
        pthread_setname_np(thread, "worker");
        pthread_join(thread, NULL);
    }
    return 0;
}
