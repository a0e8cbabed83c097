#include "limits/room_for_threads.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstddef>
#include <vector>

namespace strobe {
namespace {

constexpr size_t kStackBytes = 64 << 10;

// Waits until all are there.
void* pass(void* gate) {
    pthread_mutex_lock(static_cast<pthread_mutex_t*>(gate));
    pthread_mutex_unlock(static_cast<pthread_mutex_t*>(gate));
    return nullptr;
}

}  // namespace

bool has_room_for_threads(unsigned count) {
    // glibc would keep stacks of its own
    const size_t bytes = count * kStackBytes;
    void* stacks = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED) return false;
    std::vector<pthread_t> begun;
    begun.reserve(count);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // the process's signals are not theirs
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&gate);
    bool is_room = true;
    for (unsigned number = 0; is_room && number < count; number++) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, static_cast<char*>(stacks) + number * kStackBytes, kStackBytes);
        pthread_t thread;
        is_room = pthread_create(&thread, &attributes, pass, &gate) == 0;
        if (is_room) begun.push_back(thread);
        pthread_attr_destroy(&attributes);
    }
    pthread_mutex_unlock(&gate);
    for (const pthread_t thread : begun) pthread_join(thread, nullptr);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    munmap(stacks, bytes);
    return is_room;
}

}  // namespace strobe
