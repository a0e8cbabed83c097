// Functions that are inlined wherever they are called, or in some places, and one that is not.
#include <cstdio>

struct Range {
    int low, high;
    __attribute__((always_inline)) int clamp(int value) const {
        volatile int seen = value;
        if (value < low) return low;
        return value > high ? high : seen;
    }
};

template <typename T>
__attribute__((always_inline)) inline T half(T value) {
    volatile T given = value;
    return given / 2;
}

int twice(int value) {
    volatile int given = value;
    return given * 2;
}

__attribute__((noinline)) static int first(const Range& range, int value) { return range.clamp(value) + half(value); }

__attribute__((noinline)) static int second(const Range& range, int value) {
    const int inner = range.clamp(value + 1);
    return range.clamp(inner * 3) + static_cast<int>(half(2.5 * value)) + twice(value);
}

int main(int argc, char**) {
    const Range range = {3, 20};
    int (*volatile outside)(int) = twice;
    int sum = argc;
    for (int i = 0; i < 10; i++) sum += first(range, i);
    for (int i = 0; i < 7; i++) sum += second(range, i);
    sum += outside(sum);
    std::printf("%d\n", sum);
}
