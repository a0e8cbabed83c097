// Every kind of name that a pattern may mean. Each function is called or has its address taken, so that each has code.
#include <cstdio>
#include <string>
#include <vector>

namespace {
int hidden() { return 1; }
struct Secret {
    int value() { return 2; }
};
}  // namespace

namespace shop {
namespace {
int buried() { return 3; }
}  // namespace

inline namespace v2 {
int current() { return 4; }
}  // namespace v2

int price(int item) { return item; }
int price(int item, int count) { return item * count; }

struct Money {
    long cents = 0;
    Money() { cents = 1; }
    explicit Money(long amount) : cents(amount) {}
    virtual ~Money() {}
    Money operator+(const Money& other) const { return Money(cents + other.cents); }
    Money& operator+=(const Money& other) { return cents += other.cents, *this; }
    bool operator<(const Money& other) const { return cents < other.cents; }
    bool operator<=(const Money& other) const { return cents <= other.cents; }
    Money operator<<(int bits) const { return Money(cents << bits); }
    Money operator>>(int bits) const { return Money(cents >> bits); }
    const Money* operator->() const { return this; }
    long operator()(int factor) const { return cents * factor; }
    long operator[](int index) const { return cents + index; }
    explicit operator bool() const { return cents != 0; }
    operator unsigned long() const { return static_cast<unsigned long>(cents); }
    explicit operator std::vector<int>() const { return {}; }
    static void* operator new(size_t size) { return ::operator new(size); }
    static void operator delete(void* memory) { ::operator delete(memory); }
    int closures() {
        auto own = [this](int x) { return static_cast<int>(cents) + x; };
        return own(1);
    }
};
struct Virtual : virtual Money {
    Virtual() {}
    ~Virtual() override {}
};

Money operator""_cents(unsigned long long amount) { return Money(static_cast<long>(amount)); }

template <typename T>
T largest(T a, T b) {
    return a < b ? b : a;
}
template <typename T>
bool operator<(const std::vector<T>& one, const Money& other) {
    return static_cast<long>(one.size()) < other.cents;
}
template <typename... Ts>
int count(Ts...) {
    return sizeof...(Ts);
}
template <typename T>
    requires(sizeof(T) == 4)
int sized(T) {
    return 4;
}
template <typename T, int N = 3>
struct Array {
    int size() { return N; }
};
template <typename T, int N>
struct Array<T*, N> {
    int size() { return -N; }
};
template <typename Key>
struct Shelf {
    int find(Key) { return 1; }
    struct Label {
        int width() { return 7; }
    };
};
template <unsigned long N, char C, bool B>
int numbers() {
    return N + C + B;
}
template <auto Method>
long through(const Money& money) {
    return (money.*Method)(2);
}

int tagged() __attribute__((abi_tag("v9")));
int tagged() { return 9; }

int outer(int start) {
    struct Local {
        int twice(int x) { return 2 * x; }
    };
    auto add = [start](int x) { return start + x; };
    auto nested = [](int x) { return [x](char c) { return x + c; }('a'); };
    return add(1) + nested(2) + Local().twice(2);
}
}  // namespace shop

extern "C" int plain_c(int x) { return x; }
extern "C" int operator_of_c(int x) { return x; }

int main() {
    using namespace shop;
    Money money(5), other;
    Virtual derived;
    Secret secret;
    Array<int> three;
    Array<char*, 5> pointers;
    Shelf<const char*> texts;
    Shelf<unsigned int> ids;
    Shelf<long long unsigned> longs;
    Shelf<std::string>::Label label;
    Shelf<Shelf<const std::vector<int>&>::Label>::Label deep;
    long sum = hidden() + secret.value() + buried() + current() + price(1) + price(1, 2) + money.closures();
    sum += (money + other)(2) + (money += other)[1] + (money < other) + (money <= other) + (money << 1 >> 1)->cents;
    sum += (money ? 1 : 0) + static_cast<long>(static_cast<unsigned long>(money)) + (12_cents).cents;
    sum += static_cast<long>(static_cast<std::vector<int>>(money).size()) + largest(1, 2) + largest<unsigned>(1, 2);
    sum += (std::vector<int>() < money) + count() + count(1, 'c') + sized(1) + three.size() + pointers.size();
    sum += texts.find("a") + ids.find(1) + longs.find(1) + label.width() + deep.width() + numbers<5, 'A', true>();
    sum += through<&Money::operator()>(money) + tagged() + outer(1) + plain_c(1) + operator_of_c(1);
    delete new Money(3);
    std::printf("%ld %ld\n", sum, derived.cents);
}
