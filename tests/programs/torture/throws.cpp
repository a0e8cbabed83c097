// Exceptions through frames with destructors, thrown on, carried to another thread; and longjmp.
#include <csetjmp>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>

#include "torture.h"

namespace {
std::jmp_buf back;
thread_local long unwound = 0;

struct Guard {
    long by;
    ~Guard() { unwound += by; }
};
}  // namespace

TRACED long thrower(long depth, long value) {
    Guard guard{1};
    if (depth == 0) throw std::runtime_error(std::to_string(value));
    return thrower(depth - 1, value) + 1;
}

TRACED long thrown_on(long value) {
    Guard guard{10};
    try {
        return thrower(6, value);
    } catch (const std::exception&) {
        unwound += 100;
        throw;
    }
}

TRACED long caught(long value) {
    unwound = 0;
    try {
        return thrown_on(value);
    } catch (const std::runtime_error& error) {
        return std::stol(error.what()) + unwound - 117;
    }
}

TRACED long jumper(long depth) {
    if (depth == 0) std::longjmp(back, 1);
    if (depth < 0) return 0;
    return jumper(depth - 1) + 1;
}

TRACED long jumps() {
    if (setjmp(back) == 0) return jumper(8);
    return 7;
}

TRACED long from_another_thread(long value) {
    auto future = std::async(std::launch::async, [value]() -> long {
        counted(value);
        return thrown_on(value);
    });
    try {
        return future.get();
    } catch (const std::runtime_error& error) {
        return std::stol(error.what());
    }
}

static long round_of(long number) { return caught(number) + number + jumps() + from_another_thread(number); }

int main(int count, char** arguments) { return run_rounds(count, arguments, round_of); }
