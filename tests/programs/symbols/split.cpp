// Functions in several pieces: what seldom happens is moved away from what often does. Never run.
#include <cstdio>
#include <stdexcept>
#include <vector>

namespace split {

[[gnu::cold, gnu::noinline]] void complain(int value) { std::printf("%d\n", value); }

static thread_local int depth = 0;

struct Checked {
    explicit Checked(int limit) : limit_(limit) {}
    [[gnu::noinline]] int take(int value) {
        static int taken = 0;
        if (value > limit_) {
            complain(value);
            throw std::out_of_range("too much");
        }
        return taken += value;
    }

  private:
    int limit_;
};

template <typename Number>
[[gnu::noinline]] Number total(const std::vector<Number>& numbers) {
    Number sum = 0;
    for (const Number number : numbers) {
        if (number < 0) complain(static_cast<int>(number));
        sum += number;
    }
    return sum;
}

[[gnu::noinline]] int nested(int levels) {
    enum { kMost = 50 };
    if (++depth > kMost) complain(depth);
    return levels > 0 ? nested(levels - 1) + 1 : 0;
}

int unused(int value) { return value + 1; }

}  // namespace split

int main(int count, char**) {
    split::Checked checked(100);
    const std::vector<long> numbers{1, 2, count};
    try {
        return checked.take(count) + static_cast<int>(split::total(numbers)) + split::nested(count);
    } catch (const std::exception& error) {
        std::puts(error.what());
        return 1;
    }
}
