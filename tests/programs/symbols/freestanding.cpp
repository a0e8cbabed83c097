// Needs no header, so that it compiles for any system. The first function of an object file is at address 0.
namespace shapes {

struct Point {
    int x;
    short y : 5;
};

int first(int n) { return n + 1; }

template <typename T>
struct Box {
    T value;
    T get() const { return value; }
};

namespace {
int hidden(const Point* point, long scale) { return point->x * static_cast<int>(scale); }
}  // namespace

int open(const Point& point, int extra) {
    Box<int> box{extra};
    return hidden(&point, 2) + box.get();
}

}  // namespace shapes

extern "C" int plain(const shapes::Point* point, double ratio) {
    return shapes::open(*point, 3) + static_cast<int>(ratio);
}

int main() {
    shapes::Point point{shapes::first(1), 2};
    return plain(&point, 1.5);
}
