// Fibers of Boost.Context, which switch stacks without the kernel or libc knowing: by turns, nested, with exceptions
// inside, moved to other threads, and destroyed while they wait, which unwinds their stacks.
#include <boost/context/fiber.hpp>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#define TRACED [[gnu::noinline]]

using boost::context::fiber;

static long destroyed;

struct Guard {
    TRACED ~Guard() { destroyed++; }
};
TRACED long work(long value) {
    asm volatile("" : "+r"(value));
    return value * 3 + 1;
}
TRACED fiber wait(fiber&& other) { return std::move(other).resume(); }
TRACED void throws_odd(long value) {
    Guard guard;
    if (work(value) % 2) throw std::runtime_error("odd");
}
TRACED fiber descend(fiber&& other, long depth) {
    Guard guard;
    if (depth == 0) return wait(std::move(other));
    other = descend(std::move(other), depth - 1);
    return wait(std::move(other));
}
TRACED long take_turns(long rounds) {
    long sum = 0;
    fiber counter([&sum, rounds](fiber&& other) {
        for (long i = 0; i < rounds; i++) {
            sum += work(i);
            other = wait(std::move(other));
        }
        return std::move(other);
    });
    while (counter) {
        counter = std::move(counter).resume();
        sum ^= work(sum & 1023);
    }
    return sum;
}
TRACED long with_exceptions(long rounds) {
    long caught = 0;
    fiber thrower([&caught, rounds](fiber&& other) {
        for (long i = 0; i < rounds; i++) {
            try {
                throws_odd(i);
            } catch (const std::runtime_error&) {
                caught++;
            }
            other = wait(std::move(other));
        }
        return std::move(other);
    });
    while (thrower) thrower = std::move(thrower).resume();
    return caught;
}
TRACED fiber nest(fiber&& other, long depth) {
    Guard guard;
    if (depth > 0) {
        fiber inner([depth](fiber&& outer) { return nest(std::move(outer), depth - 1); });
        while (inner) inner = std::move(inner).resume();
    }
    return wait(std::move(other));
}
TRACED long destroyed_while_deep(long value) {
    Guard guard;
    fiber waiting([](fiber&& other) { return descend(std::move(other), 5); });
    waiting = std::move(waiting).resume();
    return work(value);
}
TRACED long on_other_threads(long rounds) {
    long sum = 0;
    fiber traveller([&sum](fiber&& other) {
        for (;;) {
            sum += work(sum & 255);
            other = wait(std::move(other));
        }
        return std::move(other);
    });
    for (long i = 0; i < rounds; i++)
        std::thread([&traveller, i] {
            work(i);
            traveller = std::move(traveller).resume();
        }).join();
    return sum;
}

int main() {
    std::printf("%ld %ld\n", take_turns(100), with_exceptions(51));
    fiber deep([](fiber&& other) { return nest(std::move(other), 6); });
    while (deep) deep = std::move(deep).resume();
    std::printf("%ld\n", destroyed);
    long sum = 0;
    for (long i = 0; i < 50; i++) sum += destroyed_while_deep(i);
    std::printf("%ld %ld %ld\n", sum, on_other_threads(20), destroyed);
    std::vector<fiber> many;
    for (long i = 0; i < 100; i++) {
        many.emplace_back([i, &sum](fiber&& other) {
            sum += work(i);
            return descend(std::move(other), i % 10);
        });
        many.back() = std::move(many.back()).resume();
    }
    for (std::size_t i = 0; i < many.size(); i += 2)
        while (many[i]) many[i] = std::move(many[i]).resume();
    many.clear();
    std::printf("%ld %ld\n", sum, destroyed);
}
