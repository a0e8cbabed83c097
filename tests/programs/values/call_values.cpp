// What watches of a call are read of: arguments in registers and on the stack, `this`, members, results of all kinds.
#include <cstdio>
#include <string>
#include <vector>

#define TRACED __attribute__((noinline))

struct Point {
    int x;
    double y;
};
struct Pair {
    long a, b;
};
struct Big {
    long values[5];
};
struct Mixed {
    double weight;
    long count;
};

int shared = 1000;  // a global that an argument hides

struct Pool {
    int m_count = 0;
    int m_capacity = 4;
    std::vector<int> items;
    std::string name = "pool";
    TRACED int add(int value, const std::string& label, Point point, Pair pair);
    TRACED Pair both(double weight, float small) const { return {m_count, static_cast<long>(weight + small)}; }
    TRACED std::string text() const { return name + "!"; }
    TRACED Big big(Big of) const {
        of.values[0] += m_count;
        return of;
    }
    TRACED Mixed mixed(Mixed of) const { return {of.weight * 2, of.count + m_count}; }
};

int Pool::add(int value, const std::string& label, Point point, Pair pair) {
    items.push_back(value);
    m_count += value;
    value = 0;  // the call was given something else
    name = label;
    return m_count + point.x + static_cast<int>(pair.b) + value;
}

TRACED double many(int a, int b, int c, int d, int e, int f, int g, long h, double z) {
    a = b + c + d + e + f;
    g = 77;
    return z * 2 + static_cast<double>(h) + a + g;
}

TRACED int hides(int shared) { return shared + 1; }
TRACED int shows(int other) { return other + shared; }

struct Node {
    int value;
    Node* next;
};
TRACED int depth(Node* node) { return node == nullptr ? 0 : 1 + depth(node->next); }
TRACED Node* last(Node* node) { return node->next == nullptr ? node : last(node->next); }
template <typename T>
TRACED T twice(T given) {
    return given + given;
}

int main() {
    Pool pool;
    for (int i = 1; i < 4; i++) {
        pool.add(i, "label" + std::to_string(i), {i, i * .5}, {i, 10 * i});
        pool.both(i, 2.5F);
        pool.text();
        pool.big({{i, 2, 3, 4, 5}});
        pool.mixed({i * .5, i});
    }
    Node second{2, nullptr}, first{1, &second};
    std::printf("%g %d %d\n", many(1, 2, 3, 4, 5, 6, 7, 8, 9.5), hides(1), shows(2));
    std::printf("%d %d %d %g\n", depth(&first), last(&first)->value, twice(21), twice(1.25));
}
