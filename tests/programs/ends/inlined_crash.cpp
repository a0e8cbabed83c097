// The fault is in a function of the standard library that is inlined into one of the program's.
#include <cstddef>
#include <memory>
#include <vector>

struct Shelf {
    std::vector<int>* items;
    int number;
};

__attribute__((noinline)) static std::size_t count(const Shelf& shelf, int more) {
    return shelf.items->size() + static_cast<std::size_t>(more);
}

int main(int argc, char**) {
    const auto shelf = std::make_unique<Shelf>(Shelf{nullptr, argc});
    return static_cast<int>(count(*shelf, 7));
}
