// Code of many kinds for probes at each of its instructions: jump tables, virtual calls, exceptions, loops, doubles.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

struct Shape {
    virtual ~Shape() = default;
    virtual int area(int n) const = 0;
};
struct Square : Shape {
    int area(int n) const override { return n * 2; }
};
struct Odd : Shape {
    int area(int n) const override {
        if (n % 7 == 0) throw std::runtime_error("seven");
        return n + 1;
    }
};

__attribute__((noinline)) int pick(int n) {
    int result = 0;
    switch (n % 9) {
        case 0:
            result = n;
            break;
        case 1:
            result = n * 3;
            break;
        case 2:
            result = n ^ 0x55;
            break;
        case 3:
            result = -n;
            break;
        case 4:
            result = n << 2;
            break;
        case 5:
            result = n / 3;
            break;
        case 6:
            result = n % 5;
            break;
        default:
            result = 1;
    }
    return result;
}

__attribute__((noinline)) long work(int rounds) {
    Square square;
    Odd odd;
    long sum = 0;
    double weight = 0.5;
    for (int i = 0; i < rounds; i++) {
        const Shape* shape = i % 2 ? static_cast<const Shape*>(&square) : &odd;
        try {
            sum += shape->area(i);
        } catch (const std::exception& error) {
            sum -= static_cast<long>(std::string(error.what()).size());
        }
        sum += pick(i);
        weight = weight * 1.01 + i;
        if (weight > 1e6) weight = 0;
    }
    return sum + static_cast<long>(weight);
}

int main(int argc, char** argv) { std::printf("%ld\n", work(argc > 1 ? std::atoi(argv[1]) : 100)); }
