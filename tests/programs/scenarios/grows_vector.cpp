// A vector that grows and is freed: its elements are made by placement new.
#include <vector>

struct Element {
    int numbers[6];
};

__attribute__((noinline)) static int fill() {
    std::vector<Element> elements;
    for (int i = 0; i < 1000; i++) elements.push_back({{i}});
    return elements.back().numbers[0];
}

int main() { return fill() == 999 ? 0 : 1; }
