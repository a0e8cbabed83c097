// Every kind of name a C++ function can have. Lines are cited by the tests.
#include <cstdio>
#include <string>

namespace {
int hidden(int value) { return value + 1; }
}  // namespace

namespace shop {
int price(int item) { return item + hidden(item); }
int price(int item, int count) { return item * count; }

template <typename T>
T largest(T a, T b) {
    return a < b ? b : a;
}

struct Money {
    long cents;
    explicit Money(long amount);
    virtual ~Money() {}
    Money operator+(const Money& other) const { return Money(cents + other.cents); }
    bool operator<(const Money& other) const { return cents < other.cents; }
    long operator()(int factor) const { return cents * factor; }
    operator bool() const { return cents != 0; }
    virtual long value() const { return cents; }
    static Money zero() { return Money(0); }
};
Money::Money(long amount) : cents(amount) {}

template <typename Key>
struct Shelf {
    Key key{};
    int count(int extra) { return extra; }
    struct Label {
        int width() { return 7; }
    };
};

namespace deep::deeper {
static int buried() { return 3; }
std::string text() { return "t"; }
}  // namespace deep::deeper

int closures(int start) {
    struct Local {
        int twice(int x) { return 2 * x; }
    };
    auto add = [start](int x) { return start + x; };
    auto two = [](int x, int y) { return x - y; };
    return add(1) + two(5, 2) + Local().twice(2);
}
}  // namespace shop

extern "C" int plain_c(int x) { return x; }

int main() {
    using namespace shop;
    Money money(5);
    Shelf<int> shelf;
    Shelf<std::string>::Label label;
    bool less = money < Money::zero();
    long sum = price(1) + price(2, 3) + largest(1, 2) + largest(money, Money(9)).value() + (money + money)(2) + less;
    sum += shelf.count(2) + label.width() + deep::deeper::buried() + closures(4) + (money ? 1 : 0) + plain_c(1);
    std::printf("%ld %zu\n", sum, deep::deeper::text().size());
}
