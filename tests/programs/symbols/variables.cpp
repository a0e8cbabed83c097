// Variables with an address of their own: global, static, of a class, of a function, thread-local, and none of those.
namespace store {

int counter = 1;
thread_local long per_thread = 2;
static int unseen = 3;
const int folded = 4;

struct Shape {
    enum class Kind { kRound, kSquare };
    union Size {
        int whole;
        float part;
    };
    static int made;
    Kind kind = Kind::kRound;
    Size size = {0};
};
int Shape::made = 5;

namespace {
int hidden = 6;
}

template <typename Value>
Value kept = Value();

int next(int step) {
    static int calls = 0;
    static thread_local int calls_here = 0;
    int local = step + ++calls + ++calls_here;
    return local;
}

}  // namespace store

extern "C" {
int plain = 7;
}

int main() {
    store::Shape shape;
    store::per_thread += store::kept<long> + store::hidden + ++store::unseen + store::folded;
    return store::next(store::Shape::made + store::counter) + static_cast<int>(shape.kind) + plain > 0 ? 0 : 1;
}
