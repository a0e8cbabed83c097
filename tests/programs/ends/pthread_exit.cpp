// A thread ends by pthread_exit below frames that have destructors; another is cancelled in such frames.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#define TRACED __attribute__((noinline))

static std::atomic<int> destroyed{0};
static std::atomic<bool> waiting{false};

struct Guard {
    TRACED ~Guard() { destroyed++; }
};
TRACED void leave(bool by_exit) {
    Guard guard;
    if (by_exit) pthread_exit(nullptr);
    waiting = true;
    for (;;) pause();
}
TRACED int middle(bool by_exit) {
    Guard guard;
    leave(by_exit);
    return 1;
}
TRACED void* start(void* by_exit) {
    Guard guard;
    middle(by_exit != nullptr);
    return nullptr;
}

int main() {
    pthread_t thread;
    for (int i = 0; i < 100; i++) {
        pthread_create(&thread, nullptr, start, &destroyed);
        pthread_join(thread, nullptr);
    }
    std::printf("exited: %d\n", destroyed.exchange(0));
    pthread_create(&thread, nullptr, start, nullptr);
    while (!waiting) sched_yield();
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
    std::printf("cancelled: %d\n", destroyed.load());
}
