#include "limits/room_for_threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstddef>
#include <vector>

namespace strobe {
namespace {

// Reserved only. glibc puts the static TLS of all libraries there as well, and asks for 128 KB on aarch64.
constexpr size_t kStackBytes = 256 << 10;

// Waits until all are there.
void* pass(void* gate) {
    pthread_mutex_lock(static_cast<pthread_mutex_t*>(gate));
    pthread_mutex_unlock(static_cast<pthread_mutex_t*>(gate));
    return nullptr;
}

// One thread with this stack, which waits at the gate. An error number where it could not be made.
int begin(void* stack, void* gate, pthread_t* thread) {
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0) return error;
    error = pthread_attr_setstack(&attributes, stack, kStackBytes);
    if (error == 0) error = pthread_create(thread, &attributes, pass, gate);
    pthread_attr_destroy(&attributes);
    return error;
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
    int error = 0;
    for (unsigned number = 0; error == 0 && number < count; number++) {
        pthread_t thread;
        error = begin(static_cast<char*>(stacks) + number * kStackBytes, &gate, &thread);
        if (error == 0) begun.push_back(thread);
    }
    pthread_mutex_unlock(&gate);
    for (const pthread_t thread : begun) pthread_join(thread, nullptr);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    munmap(stacks, bytes);
    return error != EAGAIN;  // another one says nothing of a limit
}

}  // namespace strobe
