// Three named threads in nested namespaces, each with its own rate of calls. `threads3 [ROUNDS]`; without it, until
// SIGUSR1.
#include <pthread.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "told.h"

#define TRACED __attribute__((noinline))

static long rounds = 0;

namespace audio {
namespace engine {
TRACED int mix(int left, int right) { return left * 3 + right; }
TRACED int render(int frame) { return mix(frame, 1) + mix(frame, 2); }
}  // namespace engine
TRACED int tick(int frame) { return engine::render(frame); }
}  // namespace audio

namespace midi {
TRACED int parse(const char* message, unsigned channel) { return message[0] + static_cast<int>(channel); }
TRACED int tick(int frame) { return parse("note on", static_cast<unsigned>(frame) % 16); }
}  // namespace midi

namespace ui::view {
struct Window {
    int width = 80;
    TRACED bool draw(bool dirty) const { return dirty && width > 0; }
};
TRACED int tick(int frame) { return Window().draw(frame % 2 == 0); }
}  // namespace ui::view

static void run(const char* name, int (*tick)(int)) {
    pthread_setname_np(pthread_self(), name);
    for (int frame = 0; rounds ? frame < rounds : !told; frame++) {
        tick(frame);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

int main(int argc, char** argv) {
    run_until_told();
    rounds = argc > 1 ? std::atol(argv[1]) : 0;
    std::puts("ready");
    std::fflush(stdout);
    std::thread audio_thread(run, "audio", audio::tick), midi_thread(run, "midi", midi::tick);
    std::thread ui_thread(run, "ui", ui::view::tick);
    audio_thread.join(), midi_thread.join(), ui_thread.join();
    std::fputs("bye\n", stderr);
}
