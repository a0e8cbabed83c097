// What dwarf_test reads: built once with DWARF 4 and once with DWARF 5. Never run.
namespace outer {

int counter = 1;
thread_local long per_thread = 2;

struct Shape {
    enum class Kind { kRound, kSquare };
    union Size {
        int whole;
        float part;
    };
    static int made;
    int area(int side) const;
    virtual ~Shape() = default;
    Kind kind = Kind::kRound;
    Size size = {0};
};
int Shape::made = 3;

__attribute__((always_inline)) inline int twice(int value) { return value * 2 + counter; }
int Shape::area(int side) const {
    static int calls = 0;
    return twice(side) + ++calls;
}

template <typename Number>
__attribute__((noinline)) Number largest(Number left, Number right) {
    return left < right ? right : left;
}

namespace {
using Alias = Shape;
__attribute__((noinline)) long hidden(const Alias& shape) { return shape.area(4) + per_thread; }
}  // namespace

}  // namespace outer

extern "C" int plain(int count) { return outer::twice(count); }

// Its parameter is soon somewhere else.
extern "C" int moved(int count) {
    count = outer::largest(count, 3);
    return outer::largest(count, 9) + count;
}

int main() {
    const auto add = [](int value) { return value + outer::Shape::made; };
    struct Local {
        int inside() const { return 5; }
    };
    outer::Shape shape;
    return static_cast<int>(outer::hidden(shape)) + outer::largest(add(1), 7) + plain(2) + Local().inside();
}
