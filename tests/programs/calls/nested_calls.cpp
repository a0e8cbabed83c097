// Calls within calls: recursive ones, some that are left by an exception, in two threads. Argument: how often; with a
// second one all leaves are within one single call.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace nest {

__attribute__((noinline)) int leaf(int value) {
    asm volatile("" : "+r"(value));
    return value + 1;
}

__attribute__((noinline)) int inner(int value) {
    if (value % 7 == 3) throw std::runtime_error("seven");
    return leaf(value) % 2;
}

__attribute__((noinline)) int outer(int value) {
    int sum = leaf(value) + inner(value);
    return sum % 3;
}

__attribute__((noinline)) int walk(int depth) {
    if (depth == 0) return leaf(0);
    return walk(depth - 1) + leaf(depth);
}

__attribute__((noinline)) int guarded(int value) {
    try {
        return outer(value);
    } catch (const std::runtime_error&) {
        return leaf(-1);
    }
}

__attribute__((noinline)) int many(int times) {
    int sum = 0;
    for (int at = 0; at < times; at++) sum += leaf(at);
    return sum;
}

}  // namespace nest

static void run(int times) {
    for (int at = 0; at < times; at++) {
        nest::guarded(at);
        nest::walk(at % 4);
    }
}

int main(int argc, char** argv) {
    const int times = argc > 1 ? std::atoi(argv[1]) : 10;
    if (argc > 2) {
        std::printf("%d\n", nest::many(times));
        return nest::leaf(1) - 2;
    }
    std::thread other(run, times);
    run(times);
    other.join();
    std::puts("done");
}
