// Variables wherever a program can have them: blocks, templates, lambdas, inlined calls, catch clauses, registers.
#include <cstdio>
#include <stdexcept>

#define APART __attribute__((noinline))

volatile int sink = 3;
static thread_local long seen = 2;

namespace shapes {

struct Pair {
    int first;
    int second;
};

struct Box {
    double width, height;
    int id = 7;
    APART double area(int times) const {
        double total = 0;
        for (int round = 0; round < times; ++round) {
            const double once = width * height;
            total += once + sink;
        }
        return total;
    }
};

template <typename Value>
APART Value larger(Value left, Value right) {
    static int calls = 0;
    ++calls;
    const bool is_left = left > right;
    Value chosen = is_left ? left : right;
    seen += calls;
    return chosen;
}

}  // namespace shapes

static inline int twice(int number) {
    int doubled = number * 2;
    return doubled + sink;
}

static inline int four_times(int number) {
    int part = twice(number);
    int rest = twice(part + 1);
    return part + rest;
}

APART int blocks(int depth, const char* text) {
    int value = depth;
    {
        int value = depth + 1;  // hides the outer one
        sink = value;
        for (int i = 0; i < 2; ++i) {
            long value = i + depth;
            sink = static_cast<int>(value) + text[i];
        }
    }
    return value + sink;
}

APART int by_value(shapes::Pair pair, const shapes::Pair& other, float scale, unsigned char small) {
    shapes::Pair sum{pair.first + other.first, pair.second + other.second};
    int result = sum.first * sum.second + static_cast<int>(scale) + small;
    sink = result;
    return result + sink;
}

APART int lambdas(int base) {
    int extra = sink;
    auto add = [base, &extra](int more) __attribute__((noinline)) {
        int inside = base + more;
        extra += inside;
        return inside * extra;
    };
    return add(1) + add(2);
}

APART int catches(int code) {
    try {
        if (code > 0) throw std::runtime_error("thrown");
        return 0;
    } catch (const std::runtime_error& error) {
        int length = 0;
        for (const char* at = error.what(); *at != 0; ++at) ++length;
        sink = length;
        return length + code;
    }
}

APART int many(int a, int b, int c, int d, int e, int f, int g, long h) {
    int numbers[4] = {a, b, c, d};
    int total = 0;
    for (int number : numbers) total += number + sink;
    enum class Mode : short { kOff, kOn } mode = g > 0 ? Mode::kOn : Mode::kOff;
    sink = total + static_cast<int>(mode);
    return total + e + f + static_cast<int>(h) + static_cast<int>(mode);
}

int main(int count, char** arguments) {
    shapes::Box box{1.5, 2.0};
    int total = four_times(count) + blocks(count, arguments[0]);
    total += static_cast<int>(box.area(2) + shapes::larger(1.5, 2.5)) + shapes::larger(count, 9);
    total += by_value({count, 2}, {3, count}, 1.5f, 200) + lambdas(count) + catches(count);
    total += many(1, 2, 3, 4, count, 6, 7, 8L);
    std::printf("%d %ld\n", total, seen);
    return 0;
}
