// Floating-point numbers by their bits are what the CPU makes of them.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

extern "C" {
#include "recipe/machine.h"
}
#include "check.h"

namespace {

constexpr int kRounds = 400'000;

std::uint64_t bits_of(double number) {
    std::uint64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return bits;
}

double double_of(std::uint64_t bits) {
    double number;
    std::memcpy(&number, &bits, sizeof number);
    return number;
}

std::uint32_t bits_of(float number) {
    std::uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return bits;
}

// Of all sizes, near one another, without a value.
double any_double(std::mt19937_64& random) {
    static const double kSpecial[] = {0.0,
                                      -0.0,
                                      1.0,
                                      INFINITY,
                                      -INFINITY,
                                      NAN,
                                      std::numeric_limits<double>::denorm_min(),
                                      std::numeric_limits<double>::max(),
                                      std::numeric_limits<double>::min()};
    const std::uint64_t bits = random();
    switch (random() % 7) {
        case 0:
            return double_of(bits);
        case 1:
            return static_cast<double>(static_cast<std::int64_t>(bits));
        case 2:
            return static_cast<double>(bits % 100) - 50;
        case 3:
            return double_of(bits & 0x801f'ffff'ffff'ffff);
        case 4:
            return kSpecial[bits % std::size(kSpecial)];
        case 5: {
            float number;
            const auto half = static_cast<std::uint32_t>(bits);
            std::memcpy(&number, &half, sizeof number);
            return static_cast<double>(number);
        }
        default:
            return std::ldexp(static_cast<double>(bits | 1ULL << 63), static_cast<int>(random() % 60) - 93);
    }
}

struct Difference {
    const char* of;
    double left, right, expected;
    std::uint64_t found;
};
std::vector<Difference> differences;

void compare(const char* of, double left, double right, double expected, std::uint64_t found) {
    if (std::isnan(expected) ? !std::isnan(double_of(found)) : bits_of(expected) != found)
        differences.push_back({of, left, right, expected, found});
}

void calculate(double left, double right) {
    const std::uint64_t a = bits_of(left), b = bits_of(right);
    compare("+", left, right, left + right, strobe_recipe_double_calculated(STROBE_RECIPE_DOUBLE_PLUS, a, b));
    compare("-", left, right, left - right, strobe_recipe_double_calculated(STROBE_RECIPE_DOUBLE_MINUS, a, b));
    compare("*", left, right, left * right, strobe_recipe_double_calculated(STROBE_RECIPE_DOUBLE_TIMES, a, b));
    const double quotient = right == 0 ? std::isnan(left) || left == 0               ? NAN
                                         : std::signbit(left) == std::signbit(right) ? INFINITY
                                                                                     : -INFINITY
                                       : left / right;
    compare("/", left, right, quotient, strobe_recipe_double_calculated(STROBE_RECIPE_DOUBLE_DIVIDED, a, b));
}

void convert(double number, std::uint64_t integer) {
    const auto is_float = std::isnan(number) || std::fabs(number) <= std::numeric_limits<float>::max();
    if (is_float) {
        const auto single = static_cast<float>(number);
        compare("float", number, 0, static_cast<double>(single), strobe_recipe_to_single(bits_of(number), 0));
        if (!std::isnan(number))
            CHECK_EQUAL(strobe_recipe_to_single(bits_of(number), STROBE_RECIPE_AS_FLOAT), bits_of(single));
    }
    const auto sign = static_cast<std::int64_t>(integer);
    compare("of unsigned", 0, 0, static_cast<double>(integer),
            strobe_recipe_to_double(integer, STROBE_RECIPE_FROM_UNSIGNED));
    compare("of signed", 0, 0, static_cast<double>(sign), strobe_recipe_to_double(integer, STROBE_RECIPE_FROM_SIGNED));
    compare("float of unsigned", 0, 0, static_cast<double>(static_cast<float>(integer)),
            strobe_recipe_to_double(integer, STROBE_RECIPE_SINGLE_FROM_UNSIGNED));
    compare("float of signed", 0, 0, static_cast<double>(static_cast<float>(sign)),
            strobe_recipe_to_double(integer, STROBE_RECIPE_SINGLE_FROM_SIGNED));
}

void truncate(double number) {
    std::uint64_t found;
    const bool fits = number >= -0x1p63 && number < 0x1p63;
    CHECK_EQUAL(strobe_recipe_to_integer(bits_of(number), STROBE_RECIPE_FROM_SIGNED, &found) != 0, fits);
    if (fits) CHECK_EQUAL(static_cast<std::int64_t>(found), static_cast<std::int64_t>(number));
    const bool is_unsigned = number > -1 && number < 0x1p64;
    CHECK_EQUAL(strobe_recipe_to_integer(bits_of(number), STROBE_RECIPE_FROM_UNSIGNED, &found) != 0, is_unsigned);
    if (is_unsigned) CHECK_EQUAL(found, static_cast<std::uint64_t>(number));
}

}  // namespace

void check_extended() {
    std::mt19937_64 random(9);
    for (int round = 0; round < kRounds; ++round) {
        long double number =
            static_cast<long double>(any_double(random)) * (1 + static_cast<long double>(random()) / 3e25L);
        if (round % 5 == 0) number = std::ldexp(number, static_cast<int>(random() % 3000) - 1500);
        std::uint64_t words[2] = {0, 0};
        std::memcpy(words, &number, 10);
        const double expected = static_cast<double>(number);
        const std::uint64_t found = strobe_recipe_from_extended(words[0], words[1]);
        if (std::isnan(expected)) {
            CHECK(std::isnan(double_of(found)));
        } else {
            CHECK_EQUAL(found, bits_of(expected));
        }
    }
}

int main() {
    std::mt19937_64 random(7);
    for (int round = 0; round < kRounds; round++) {
        const double left = any_double(random);
        double right = any_double(random);
        if (round % 8 == 0) right = double_of(bits_of(left) + random() % 5 - 2);
        calculate(left, round % 16 == 0 ? -right : right);
        convert(left, random() >> random() % 64);
        truncate(left);
    }
    check_extended();
    for (const Difference& one : differences)
        std::cerr << std::hexfloat << one.left << ' ' << one.of << ' ' << one.right << " is " << one.expected
                  << ", not " << double_of(one.found) << '\n';
    return strobe::test::failures != 0 || !differences.empty();
}
