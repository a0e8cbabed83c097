// Threads that are cancelled where they wait, or anywhere: destructors and clean-up handlers run once each.
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#define TRACED [[gnu::noinline]]

static std::atomic<int> destroyed, cleaned, keys;
static sem_t ready;
static pthread_key_t key;

struct Guard {
    TRACED Guard() {}
    TRACED ~Guard() { destroyed++; }
};
TRACED void clean(void*) { cleaned++; }
TRACED void at_end(void*) { keys++; }

TRACED long work(long value) {
    asm volatile("" : "+r"(value));
    return value + 1;
}
TRACED void wait_for_ever(int depth) {
    Guard guard;
    if (depth < 0) return;
    pthread_cleanup_push(clean, nullptr);
    if (depth > 0) {
        wait_for_ever(depth - 1);
    } else {
        sem_post(&ready);
        while (true) pause();
    }
    pthread_cleanup_pop(0);
}
TRACED void* waits(void*) {
    pthread_setspecific(key, &key);
    wait_for_ever(3);
    return nullptr;
}
TRACED void* computes(void*) {
    pthread_setspecific(key, &key);
    int old;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    sem_post(&ready);
    for (long value = 0;;) value = work(value);
}
TRACED int cancel(void* (*body)(void*)) {
    pthread_t thread;
    void* result;
    pthread_create(&thread, nullptr, body, nullptr);
    sem_wait(&ready);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    return result == PTHREAD_CANCELED;
}

int main() {
    int count = 0;
    sem_init(&ready, 0, 0);
    pthread_key_create(&key, at_end);
    for (int i = 0; i < 50; i++) count += cancel(waits);
    std::printf("%d %d %d %d\n", count, destroyed.load(), cleaned.load(), keys.load());
    for (int i = 0; i < 200; i++) count += cancel(computes);
    std::printf("%d %d\n", count, keys.load());
}
