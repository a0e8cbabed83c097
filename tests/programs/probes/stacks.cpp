// A function that is reached in many ways: by recursion, virtual calls, a callback of the C library, a handler of a
// signal, and through code that was inlined. Prints what it has worked out.
#include <csignal>
#include <cstdio>
#include <cstdlib>

static volatile int total;

__attribute__((noinline)) int leaf(int n) {
    total = total + n;
    return n + 1;
}

static inline __attribute__((always_inline)) int folded(int n) {
    return leaf(n) + 3;  // folded
}

struct Shape {
    virtual int area(int n) { return folded(n) + 1; }
    virtual ~Shape() {}
};

struct Square : Shape {
    int area(int n) override {
        int found = folded(n) * 2;
        total = total + found;
        return found;
    }
};

__attribute__((noinline)) int descend(Shape* shape, int n) {
    if (n == 0) return shape->area(n) + 1;
    int below = descend(shape, n - 1);
    total = total + below;
    return below + 1;
}

static int compare(const void* one, const void* other) {
    int first = *static_cast<const int*>(one), second = *static_cast<const int*>(other);
    int found = leaf(first) - second;
    total = total + found;
    return found;
}

static void on_signal(int) {
    total = total + leaf(5);
    total = total + 1;
}

// What it is given on the stack has to be aligned: gcc finds the frame by another register then.
__attribute__((noinline)) int aligned(int n) {
    alignas(64) volatile int numbers[16] = {n};
    int found = leaf(numbers[0]);
    total = total + numbers[n & 15];
    return found + numbers[0];
}

__attribute__((noinline)) int sized(int n) {
    volatile char* room = static_cast<volatile char*>(__builtin_alloca(static_cast<size_t>(n) * 16 + 16));
    room[0] = static_cast<char>(n);
    int found = leaf(n);
    total = total + room[0];
    return found + room[0];
}

int main() {
    std::signal(SIGUSR1, on_signal);
    Square square;
    int found = descend(&square, 3);
    int numbers[] = {3, 1, 2};
    std::qsort(numbers, 3, sizeof *numbers, compare);
    found += aligned(4);
    found += sized(found & 7);
    std::raise(SIGUSR1);
    std::printf("%d %d %d\n", found, numbers[0], total);
}
