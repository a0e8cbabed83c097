// Before main and after it: constructors by priority, static objects, functions of atexit and quick_exit, what runs
// while other threads still do. `life quick` ends by quick_exit.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#define TRACED [[gnu::noinline]]

TRACED long say(const char* text) { return std::printf("%s\n", text) > 0 ? long(strlen(text)) : -1; }

[[gnu::constructor(101)]] static void earliest() { say("earliest"); }
[[gnu::constructor]] static void early() { say("early"); }
[[gnu::destructor]] static void late() { say("late"); }
[[gnu::destructor(101)]] static void latest() { say("latest"); }

struct Object {
    const char* name;
    TRACED explicit Object(const char* n) : name(n) { say(name); }
    TRACED ~Object() {
        say(name);
        std::thread(say, "in a thread at the end").join();
    }
};
static Object first("first"), second("second");
TRACED static Object& lazily() {
    static Object object("lazy");
    return object;
}
TRACED static void at_exit() {
    say("at exit");
    std::atexit([] { say("registered at exit"); });
}

int main(int argc, char** argv) {
    bool quick = argc > 1 && !strcmp(argv[1], "quick");
    std::atexit(at_exit);
    std::at_quick_exit([] { say("quickly"), fflush(stdout); });
    std::atomic<bool> runs = false;
    std::thread([&runs] {
        runs = true;
        for (;;) usleep(1000);
    }).detach();
    while (!runs) usleep(100);
    say(lazily().name);
    if (quick) quick_exit(4);
    return 3;
}
