// Library types that change between the calls of a function.
#include <memory>
#include <optional>
#include <vector>

std::vector<int> gVector{1, 2, 3};
std::shared_ptr<int> gShared;
std::optional<int> gOptional;

__attribute__((noinline)) void tick(int number) {
    if (number == 1) {
        gVector.push_back(77);
        gShared = std::make_shared<int>(5);
        gOptional = 9;
    }
}

int main() {
    for (int number = 0; number < 3; number++) tick(number);
}
