// An exception that nobody catches: std::terminate, and the message of the C++ library on standard error.
#include <cstdio>
#include <stdexcept>

__attribute__((noinline)) int doomed(int value) {
    if (value > 2) throw std::out_of_range("nobody catches this");
    return doomed(value + 1) + 1;
}

int main() {
    std::puts("before");
    return doomed(0);
}
