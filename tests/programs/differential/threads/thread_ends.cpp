// What runs when a thread ends: destructors of its variables, of its keys in several rounds, its clean-up handlers.
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <thread>

#define TRACED [[gnu::noinline]]

static std::atomic<long> calls;
static pthread_key_t keys[3];

TRACED long count(long value) {
    calls += value;
    return value + 1;
}
struct Local {
    long value;
    TRACED explicit Local(long v) : value(count(v)) {}
    TRACED ~Local() { count(value); }
    TRACED void use() { value += 1; }
};
thread_local Local first(1), second(10);

TRACED void again(void* value) {
    long round = count(reinterpret_cast<long>(value));
    if (round < 6) pthread_setspecific(keys[round % 3], reinterpret_cast<void*>(round));
}
TRACED void* body(void* how) {
    for (auto& key : keys) pthread_setspecific(key, reinterpret_cast<void*>(1));
    first.use();
    second.use();
    if (how) pthread_exit(nullptr);
    return nullptr;
}

int main() {
    for (auto& key : keys) pthread_key_create(&key, again);
    for (long i = 0; i < 100; i++) {
        pthread_t thread;
        pthread_create(&thread, nullptr, body, reinterpret_cast<void*>(i % 2));
        pthread_join(thread, nullptr);
    }
    std::printf("%ld\n", calls.load());
    std::thread([] { first.use(); }).join();
    std::printf("%ld\n", calls.load());
}
