// Exceptions through three frames, caught in a fourth, with destructors, rethrow, and many in a loop.
#include <cstdio>
#include <stdexcept>

#define TRACED __attribute__((noinline))

namespace flow {
static int destroyed = 0;

struct Guard {
    TRACED ~Guard() { destroyed++; }
};

TRACED int deepest(int value) {
    if (value % 2) throw std::runtime_error("odd");
    return value;
}
TRACED int middle(int value) {
    Guard guard;
    return deepest(value) + 1;
}
TRACED int upper(int value) {
    Guard guard;
    return middle(value) + 1;
}
TRACED int catches(int value) {
    try {
        return upper(value) + 1;
    } catch (const std::runtime_error& error) {
        return -value;
    }
}
TRACED int rethrows(int value) {
    try {
        return upper(value);
    } catch (...) {
        throw;
    }
}
TRACED int translates(int value) {
    try {
        return rethrows(value);
    } catch (const std::exception&) {
        try {
            throw std::logic_error("second");
        } catch (const std::logic_error&) {
            return catches(value + 1);
        }
    }
}
}  // namespace flow

int main() {
    std::printf("caught %d, passed %d\n", flow::catches(3), flow::catches(4));
    std::printf("translated %d\n", flow::translates(5));
    long sum = 0;
    for (int value = 0; value < 10000; value++) sum += flow::catches(value);
    std::printf("sum %ld, destroyed %d\n", sum, flow::destroyed);
    try {
        flow::upper(1);
    } catch (const std::runtime_error& error) {
        std::printf("main caught %s\n", error.what());
    }
}
