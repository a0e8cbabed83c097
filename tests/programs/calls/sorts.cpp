// Functions with an argument of each sort that is one number or text, called with many values from three threads.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include <string>
#include <thread>
#include <vector>

namespace sorts {

enum Kind { NONE, SALE, REFUND = 7, LOSS = -3 };
enum Flags : unsigned { READ = 1, WRITE = 2, EXECUTE = 4 };
enum class Level : int8_t { LOW = -1, MIDDLE, HIGH };

__attribute__((noinline)) int8_t whole(int8_t tiny, uint8_t byte, int16_t small, uint32_t number, int64_t big,
                                       uint64_t huge, bool is_odd) {
    __asm__ volatile("" ::"r"(byte), "r"(number), "r"(big), "r"(huge), "r"(is_odd));
    return static_cast<int8_t>(tiny + small);
}

__attribute__((noinline)) Kind named(Kind kind, Flags flags, Level level, char letter) {
    __asm__ volatile("" ::"r"(flags), "r"(level), "r"(letter));
    return kind;
}

__attribute__((noinline)) double broken(float single, double real, int number) { return single * real + number; }

__attribute__((noinline)) const char* told(const char* text, const std::string& name, const int* place, long number) {
    __asm__ volatile("" ::"r"(name.data()), "r"(place), "r"(number));
    return text;
}

__attribute__((noinline)) int nested(int number) { return number <= 0 ? 0 : 1 + nested(number - 2); }

const char* const kTexts[] = {
    "",  "bread",       "refund", "a longer text that is cut, as it has more than is kept of one",
    "b", "caf\xc3\xa9", nullptr,  "bread and butter"};
const float kFloats[] = {0, 0.1f, -2.5f, 1e20f, 3, 0.3f, 16777216, 1e-40f};
const double kDoubles[] = {0, 0.1, -2.5, 1e300, 3, 0.30000000000000004};

void run(int which) {
    char name[16];
    snprintf(name, sizeof name, "sort-%d", which);
    pthread_setname_np(pthread_self(), name);
    static const int place = 0;
    for (int i = 0; i < 60; i++) {
        const int64_t wide = static_cast<int64_t>(0x9e3779b97f4a7c15ull * static_cast<unsigned>(i * 3 + which));
        whole(static_cast<int8_t>(wide), static_cast<uint8_t>(i), static_cast<int16_t>(i - 30), 7u * i, wide,
              static_cast<uint64_t>(wide), i & 1);
        named(static_cast<Kind>(i % 9 - 3), static_cast<Flags>(i % 9), static_cast<Level>(i % 4 - 1),
              static_cast<char>(i * 5));
        broken(kFloats[i % 8], kDoubles[i % 6], i);
        told(kTexts[i % 8], kTexts[i % 5], i % 3 ? &place : nullptr, i);
        if (i % 10 == 0) nested(i);
    }
}

}  // namespace sorts

int main() {
    std::vector<std::thread> threads;
    for (int which = 1; which <= 3; which++) threads.emplace_back(sorts::run, which);
    for (auto& one : threads) one.join();
    puts("done");
    return 0;
}
