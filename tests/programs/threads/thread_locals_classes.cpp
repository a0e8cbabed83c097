// Thread-local members, those of functions and of namespaces. Each thread prints nothing; "ready" when all have theirs.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <iostream>
#include <string>
#include <thread>

struct Clock {
    static thread_local int ticks;
};
thread_local int Clock::ticks = 3;

namespace audio {
thread_local double level = 0.5;
thread_local std::string title = "main";
}  // namespace audio

int counted() {
    static thread_local int calls = 40;
    return ++calls;
}

int gTids[2];
std::atomic<int> gReady{0};

void run(int index) {
    Clock::ticks = 30 + index;
    audio::level = 1.5 + index;
    audio::title = "thread " + std::to_string(index);
    for (int call = 0; call <= index; call++) counted();
    gTids[index] = static_cast<int>(syscall(SYS_gettid));
    gReady++;
    pause();
}

int main() {
    for (int index = 0; index < 2; index++) std::thread(run, index).detach();
    while (gReady != 2) std::this_thread::yield();
    counted();
    std::cout << "ready " << audio::title << Clock::ticks << audio::level << std::endl;
    pause();
}
