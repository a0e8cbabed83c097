// Names of Rust's v0 mangling that are damaged: an answer within bounds, and no byte read that is not there. What right
// names become is in tests/unit/symbols/test_symbols_rust.py.
#include <iostream>
#include <random>
#include <string>

#include "demangle/rust_v0.h"

using strobe::demangle::rust_v0;

namespace {

constexpr size_t kMaxBytes = 1 << 16;
constexpr int kDamaged = 50'000;
const std::string kGood[] = {
    "_RNvMs_C3appINtB4_5StacklE4push",
    "_RNvXs0_C3appNtB5_6SquareNtB5_5Shape4area",
    "_RNCNCNvC3app4mains_0s0_0",
    "_RINvC3app3mapDG_INtC3app2FnTRL0_eEEp6OutputbEL_E",
    "_RINvC3app3mapFUKCPhElFEuFK8fastcallbEbE",
    "_RINvC3app5fixedKj1f_Klna_Kb1_Kc78_KRe616263_KVNtC3app2AtS1xh1_EE",
    "_RNvNtC3appu7_1lqs71du4cb6a",
};
const std::string kLetters = "0123456789_ABCDEFGIKLMNOPQRSTUVXYabcdefhijlmnopqrstuvxyz";

std::string base_62(size_t number) {
    if (number == 0) return "_";
    constexpr const char* kDigits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string text;
    for (size_t rest = number - 1; rest > 0 || text.empty(); rest /= 62) text.insert(text.begin(), kDigits[rest % 62]);
    return text + "_";
}

// Each of so many pairs refers twice to the one before it.
std::string doubling(unsigned pairs) {
    std::string text = "_RIC3app", before = "h";
    for (unsigned i = 0; i < pairs; ++i) {
        const size_t position = text.size() - 2;
        text += "T" + before + before + "E";
        before = "B" + base_62(position);
    }
    return text + "E";
}

bool is_bounded(const std::string& name) {
    const auto answer = rust_v0(name);
    return !answer || answer->size() <= kMaxBytes;
}

}  // namespace

int main() {
    int failures = 0;
    const auto check = [&](bool holds, const std::string& name) {
        if (!holds) std::cerr << name.substr(0, 200) << '\n';
        failures += !holds;
    };
    std::mt19937 random(1);
    for (const std::string& name : kGood) {
        check(rust_v0(name).has_value(), name);
        for (size_t size = 0; size < name.size(); ++size) check(is_bounded(name.substr(0, size)), name);
    }
    for (int i = 0; i < kDamaged; ++i) {
        std::string name = kGood[random() % std::size(kGood)];
        for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
            name[2 + random() % (name.size() - 2)] = kLetters[random() % kLetters.size()];
        }
        check(is_bounded(name), name);
    }
    check(rust_v0(doubling(4)).has_value(), doubling(4));
    check(!rust_v0(doubling(60)), doubling(60));
    check(!rust_v0("_RIC3app" + std::string(100'000, 'S') + "hE"), "deep");
    check(!rust_v0("_R" + std::string(100'000, 'N')), "deep path");
    return failures > 0 ? 1 : 0;
}
