// Calls through tables and pointers: several bases (thunks adjust `this`), virtual bases, covariant results, pointers
// to members, std::function, lambdas, operators, conversion, templates with recursion.
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#define TRACED [[gnu::noinline]]

struct Base {
    long base = 1;
    TRACED virtual long first(long value) { return value + base; }
    TRACED virtual Base* self() { return this; }
    TRACED virtual ~Base() { base = 0; }
};
struct Other {
    long other = 2;
    TRACED virtual long second(long value) { return value * other; }
    TRACED virtual Other* copy() { return this; }
    TRACED virtual ~Other() { other = 0; }
};
struct Both : Base, Other {
    long own = 3;
    TRACED long first(long value) override { return value - own; }
    TRACED long second(long value) override { return value + own * other; }
    TRACED Both* self() override { return this; }
    TRACED Both* copy() override { return this; }
};
struct Left : virtual Base {
    TRACED long first(long value) override { return value * 5; }
};
struct Right : virtual Base {
    TRACED virtual long third(long value) { return first(value) + 1; }
};
struct Diamond : Left, Right {
    TRACED long third(long value) override { return Right::third(value) * 2; }
    TRACED explicit operator long() { return third(1); }
    TRACED long operator()(long value) { return third(value); }
};
template <int N>
struct Sum {
    TRACED static long of(long value) { return Sum<N - 1>::of(value) + N; }
};
template <>
struct Sum<0> {
    TRACED static long of(long value) { return value; }
};
TRACED long call(const std::function<long(long)>& function, long value) { return function(value); }

int main() {
    long sum = 0;
    for (long i = 0; i < 100; i++) {
        std::vector<std::unique_ptr<Base>> all;
        all.push_back(std::make_unique<Base>());
        all.push_back(std::make_unique<Both>());
        all.push_back(std::make_unique<Diamond>());
        for (auto& item : all) sum += item->first(i) + item->self()->base;
        std::unique_ptr<Other> other = std::make_unique<Both>();
        sum += other->second(i) + other->copy()->other;
        Diamond diamond;
        long (Base::*pointer)(long) = &Base::first;
        sum += (diamond.*pointer)(i) + static_cast<long>(diamond) + diamond(i) + Sum<10>::of(i);
        sum += call([&](long value) { return value + sum % 7; }, i) + call(std::ref(diamond), i);
        sum %= 1000003;
    }
    std::printf("%ld\n", sum);
}
