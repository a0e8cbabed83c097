// Lines that the compiler makes several copies of. Tests find them by the marks in their comments.
#include <cstdio>

#define APART __attribute__((noinline))
#define INLINED inline __attribute__((always_inline))

static volatile int sink = 1;

static INLINED int small(int small_value) {
    sink = sink + small_value;  // SMALL
    return sink;
}

static INLINED int middle(int value) {
    return small(value) * 3;  // MIDDLE
}

template <typename Value>
APART Value doubled(Value value) {
    sink = sink + 1;
    return value + value;  // DOUBLED
}

struct Base {
    int id;
    APART explicit Base(int given) : id(given) {
        sink = sink + id;  // BASE
    }
    virtual ~Base() {}
};

struct Derived : virtual Base {
    int more;
    APART explicit Derived(int given) : Base(given), more(0) {
        more = id + 1;  // DERIVED
    }
};

struct Last : Derived {
    APART explicit Last(int given) : Base(given), Derived(given) {
        sink = sink + more;  // LAST
    }
};

APART void gives_up(int code) {
    if (code > sink + 100) std::printf("%d\n", code);
    __builtin_unreachable();  // UNREACHABLE
}

APART int follows(int value) {  // FOLLOWS
    return value + sink;
}

APART int twice_in_a_row(int value) {
    (void)small(value), (void)small(value + 1), (void)small(value + 2);  // ROW
    return sink;
}

APART int loops(int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i) {  // LOOP
        sum += sink + i;               // BODY
    }
    return sum;
}

int main(int count, char**) {
    auto add = [count](int more) {
        return count + more;  // LAMBDA
    };
    auto one_line = [count](int more) { return count + more; };  // CLOSURE
    int total = one_line(1) + middle(count) + small(count);
    total += doubled(count) + static_cast<int>(doubled(1.5)) + static_cast<int>(doubled(2L));
    Last last(count);
    Derived derived(count);
    total += last.more + derived.more + add(2) + follows(count) + twice_in_a_row(count) + loops(count + 2);
    if (count > 100) gives_up(count);
    std::printf("%d\n", total);
    return 0;
}
