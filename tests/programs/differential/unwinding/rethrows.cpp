// Exceptions: through three frames, rethrown, replaced, nested, carried to another thread, out of constructors, through
// functions in tail position and function try blocks, thrown by destructors, past library code.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define TRACED [[gnu::noinline]]

static long destroyed;
struct Guard {
    TRACED ~Guard() { destroyed++; }
};
TRACED void deepest(int value) {
    Guard guard;
    if (value % 3 == 0) throw value;
    if (value % 3 == 1) throw std::runtime_error(std::to_string(value));
}
TRACED void middle(int value) {
    Guard guard;
    deepest(value);
}
TRACED void in_tail_position(int value) { return middle(value); }
TRACED void rethrows(int value) {
    try {
        in_tail_position(value);
    } catch (...) {
        Guard guard;
        throw;
    }
}
TRACED void nests(int value) {
    try {
        rethrows(value);
    } catch (const std::exception&) {
        std::throw_with_nested(std::logic_error("outer"));
    }
}
TRACED int catches(int value) {
    try {
        nests(value);
        return 0;
    } catch (int number) {
        return number;
    } catch (const std::logic_error& error) {
        try {
            std::rethrow_if_nested(error);
        } catch (const std::runtime_error& inner) {
            return std::stoi(inner.what()) * 10;
        }
    }
    return -1;
}
struct Whole {
    Guard part;
    TRACED explicit Whole(int value) try : part() { middle(value); } catch (int number) {
        throw std::out_of_range(std::to_string(number));
    }
};
TRACED int constructs(int value) {
    try {
        Whole whole(value);
    } catch (const std::out_of_range&) {
        return 1;
    } catch (const std::exception&) {
        return 2;
    }
    return 0;
}
struct Throws {
    TRACED ~Throws() noexcept(false) {
        if (!std::uncaught_exceptions()) throw 5;
    }
};
TRACED int destroys(bool both) {
    try {
        Throws throws;
        if (both) throw 6;
    } catch (int number) {
        return number;
    }
    return 0;
}
TRACED int past_library(int limit) {
    std::vector<int> values(20);
    int calls = 0;
    try {
        std::generate(values.begin(), values.end(), [&] { return ++calls < limit ? calls : throw calls; });
        std::sort(values.begin(), values.end(), [&](int a, int b) { return ++calls < limit ? a > b : throw calls; });
    } catch (int number) {
        return number;
    }
    return 0;
}
TRACED int carried(int value) {
    std::exception_ptr pointer;
    std::thread([&] {
        try {
            rethrows(value);
        } catch (...) {
            pointer = std::current_exception();
        }
    }).join();
    try {
        if (pointer) std::rethrow_exception(pointer);
    } catch (int number) {
        return number;
    } catch (const std::exception&) {
        return -2;
    }
    return 0;
}

int main() {
    long sum = 0;
    for (int value = 0; value < 300; value++) sum += catches(value) + constructs(value);
    for (int value = 0; value < 30; value++) sum += carried(value) + past_library(value * 3);
    std::printf("%ld %d %d %ld\n", sum, destroys(false), destroys(true), destroyed);
}
