// One function per way to take and give values in C++; every integer that arrives is different.
#include <complex>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

static volatile long sink;

struct Trivial {
    int a, b;
};
struct Mixed {
    double d;
    long n;
};
struct Floats {
    float x, y;
};
struct Three {
    long a, b, c;
};
struct Empty {};
struct WithDestructor {
    int a;
    ~WithDestructor() { sink = a; }
};
struct WithCopy {
    int a;
    explicit WithCopy(int x) : a(x) {}
    WithCopy(const WithCopy& o) : a(o.a) {}
};
struct Defaulted {
    int a;
    explicit Defaulted(int x) : a(x) {}
    Defaulted(const Defaulted&) = default;
    ~Defaulted() = default;
};
struct Holder {
    int n;
    WithCopy inside;
};
struct Derived : Trivial {
    int c;
};
struct Polymorphic {
    int a;
    explicit Polymorphic(int x) : a(x) {}
    virtual long get(int add) { return a + add; }
};
struct Bits {
    unsigned a : 3;
    unsigned b : 20;
    long c : 40;
};
struct __attribute__((packed)) Packed {
    char a;
    int b;
};
struct Long {
    long double d;
};
struct MoveOnly {
    int a;
    explicit MoveOnly(int x) : a(x) {}
    MoveOnly(MoveOnly&&) = default;
    MoveOnly(const MoveOnly&) = delete;
};
union Either {
    long n;
    double d;
};
union Word {
    int n;
    char c[4];
};
enum class Colour : uint8_t { Red = 1, Green = 200 };
enum Plain { One = 1, Big = 70000 };
struct Base {
    int base;
    explicit Base(int b) : base(b) {}
};
struct Virtual : virtual Base {
    int own;
    KEPT Virtual(int a, int b) : Base(a), own(b) { sink = own; }
};
struct Diamond : Virtual {
    KEPT Diamond(int a, int b) : Base(a), Virtual(a + 1, b + 1) { sink = b; }
};

KEPT void small_integers(signed char a, unsigned char b, short c, unsigned short d, int e, unsigned f) {
    sink = a + b + c + d + e + f;
}
KEPT void more_than_six(long a, long b, long c, long d, long e, long f, long g, long h) {
    sink = a + b + c + d + e + f + g + h;
}
KEPT void booleans(bool a, char b, wchar_t c, char16_t d, char32_t e, bool f) {
    sink = a + b + c + static_cast<long>(d) + static_cast<long>(e) + f;
}
KEPT void enums(Colour a, Plain b, Colour c) { sink = static_cast<long>(a) + b + static_cast<long>(c); }
KEPT void references(int& a, const long& b, int&& c, int* d, const char* e, void* f) {
    sink = a + b + c + *d + *e + (f != nullptr);
}
KEPT void floats_between(int a, double b, int c, float d, long e, long double f, int g) {
    sink = a + c + e + g + static_cast<long>(b + d + f);
}
KEPT void trivial(int a, Trivial b, int c) { sink = a + b.a + b.b + c; }
KEPT void mixed(int a, Mixed b, int c) { sink = a + b.n + c; }
KEPT void float_pair(int a, Floats b, int c) { sink = a + static_cast<long>(b.x) + c; }
KEPT void in_memory(int a, Three b, int c) { sink = a + b.b + c; }
KEPT void empty(int a, Empty, int c) { sink = a + c; }
KEPT void destructor(int a, WithDestructor b, int c) { sink = a + b.a + c; }
KEPT void copy(int a, WithCopy b, int c) { sink = a + b.a + c; }
KEPT void defaulted(int a, Defaulted b, int c) { sink = a + b.a + c; }
KEPT void holder(int a, Holder b, int c) { sink = a + b.inside.a + c; }
KEPT void derived(int a, Derived b, int c) { sink = a + b.c + c; }
KEPT void polymorphic(int a, Polymorphic b, int c) { sink = a + b.a + c; }
KEPT void bits(int a, Bits b, int c) { sink = a + b.b + c; }
KEPT void packed(int a, Packed b, int c) { sink = a + b.b + c; }
KEPT void long_double(int a, Long b, int c) { sink = a + static_cast<long>(b.d) + c; }
KEPT void move_only(int a, MoveOnly b, int c) { sink = a + b.a + c; }
KEPT void unions(int a, Either b, Word c, int d) { sink = a + b.n + c.n + d; }
KEPT void no_room(long a, long b, long c, long d, long e, Mixed f, Either g, Three h, long i) {
    sink = a + b + c + d + e + f.n + g.n + h.a + i;
}
KEPT void pair_reverts(long a, long b, long c, long d, long e, std::pair<long, long> f, long g) {
    sink = a + b + c + d + e + f.first + g;
}
KEPT void wide(int a, __int128 b, int c) { sink = a + static_cast<long>(b) + c; }
KEPT void complex_numbers(int a, std::complex<double> b, std::complex<float> c, int d) {
    sink = a + static_cast<long>(b.real() + c.real()) + d;
}
KEPT void strings(int a, std::string b, std::string_view c, int d) {
    sink = a + static_cast<long>(b.size() + c.size()) + d;
}
KEPT void containers(int a, std::vector<int> b, std::unique_ptr<int> c, std::shared_ptr<int> d, int e) {
    sink = a + b[0] + *c + *d + e;
}
KEPT void optionals(int a, std::optional<int> b, std::function<int()> c, int d) { sink = a + *b + c() + d; }
KEPT void callbacks(int a, int (*b)(int), int Trivial::* c, long (Polymorphic::*d)(int), int e) {
    sink = a + b(1) + (c != nullptr) + (d != nullptr) + e;
}
KEPT void nothing(int a, std::nullptr_t, int c) { sink = a + c; }
KEPT void variadic(int a, long b, ...) { sink = a + b; }
KEPT void unnamed(int, long b, int) { sink = b; }
KEPT Three gives_memory(int a, int b) { return {a, b, 3}; }
KEPT Trivial gives_registers(int a, int b) { return {a, b}; }
KEPT std::string gives_string(int a, int b) { return std::to_string(a + b); }
KEPT WithDestructor gives_destructor(int a, int b) { return {a + b}; }
KEPT Long gives_long(int a, int b) { return {static_cast<long double>(a + b)}; }
KEPT long double gives_long_double(int a, int b) { return a + b; }
KEPT double gives_double(int a, int b) { return a + b; }
KEPT static long local_static(long a, int b, long c) { return a + b + c; }

struct Methods {
    long state = 1;
    KEPT void simple(int a, long b) { sink = state + a + b; }
    KEPT static void no_this(int a, long b) { sink = a + b; }
    KEPT std::string gives(int a) const { return std::to_string(state + a); }
    KEPT virtual void overridden(int a, WithCopy b, int c) { sink = a + b.a + c; }
    template <typename T>
    KEPT T templated(int a, T b) {
        sink = a;
        return b;
    }
};

static int add_one(int x) { return x + 1; }

int main() {
    int i = 1001;
    long l = 1002;
    int target = 1003;
    char text[] = "x";
    small_integers(-11, 212, -3013, 60014, -15, 4000000016u);
    more_than_six(21, 22, 23, 24, 25, 26, 27, 28);
    booleans(true, 'b', L'c', u'd', U'e', false);
    enums(Colour::Green, Big, Colour::Red);
    references(i, l, 33, &target, text, &l);
    floats_between(41, 1.5, 42, 2.5f, 43, 3.5L, 44);
    trivial(51, {52, 53}, 54);
    mixed(61, {1.5, 62}, 63);
    float_pair(71, {1, 2}, 72);
    in_memory(81, {82, 83, 84}, 85);
    empty(91, {}, 92);
    destructor(101, {102}, 103);
    copy(111, WithCopy(112), 113);
    defaulted(121, Defaulted(122), 123);
    holder(131, {132, WithCopy(133)}, 134);
    derived(141, {{142, 143}, 144}, 145);
    polymorphic(151, Polymorphic(152), 153);
    bits(161, {1, 2, 3}, 162);
    packed(171, {1, 172}, 173);
    long_double(181, {1}, 182);
    move_only(191, MoveOnly(192), 193);
    unions(201, {202}, {203}, 204);
    no_room(211, 212, 213, 214, 215, {1.0, 216}, {217}, {218, 219, 220}, 221);
    pair_reverts(231, 232, 233, 234, 235, {236, 237}, 238);
    wide(241, 242, 243);
    complex_numbers(251, {1, 2}, {3, 4}, 252);
    strings(261, "b", "c", 262);
    containers(271, {1}, std::make_unique<int>(2), std::make_shared<int>(3), 272);
    optionals(281, 1, [] { return 2; }, 282);
    callbacks(291, add_one, &Trivial::b, &Polymorphic::get, 292);
    nothing(301, nullptr, 302);
    variadic(311, 312, 313);
    unnamed(321, 322, 323);
    gives_memory(331, 332);
    gives_registers(341, 342);
    gives_string(351, 352);
    gives_destructor(361, 362);
    gives_long(371, 372);
    gives_long_double(381, 382);
    gives_double(391, 392);
    sink = local_static(401, 402, 403);
    Methods methods;
    methods.simple(411, 412);
    Methods::no_this(421, 422);
    methods.gives(431);
    methods.overridden(441, WithCopy(442), 443);
    methods.templated(451, 452L);
    methods.templated(461, 4.5);
    Virtual alone(471, 472);
    Diamond diamond(481, 482);
    sink = alone.own + diamond.own;
    std::puts("done");
}
