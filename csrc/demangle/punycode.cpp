#include "demangle/punycode.h"

#include <vector>

namespace strobe::demangle {
namespace {

// RFC 3492, section 5
constexpr uint64_t kBase = 36, kMin = 1, kMax = 26, kSkew = 38, kDamp = 700, kFirstBias = 72, kFirstLetter = 128;
constexpr uint64_t kLastLetter = 0x10FFFF;

// The number of a digit: a to z, 0 to 9; kBase for any other letter.
uint64_t digit(char letter) {
    if (letter >= 'a' && letter <= 'z') return static_cast<uint64_t>(letter - 'a');
    if (letter >= '0' && letter <= '9') return static_cast<uint64_t>(letter - '0') + 26;
    return kBase;
}

uint64_t adapted(uint64_t delta, uint64_t length, bool is_first) {
    delta = is_first ? delta / kDamp : delta / 2;
    delta += delta / length;
    uint64_t k = 0;
    for (; delta > (kBase - kMin) * kMax / 2; k += kBase) delta /= kBase - kMin;
    return k + (kBase - kMin + 1) * delta / (delta + kSkew);
}

// One number of variable length from the front of `text`; none where it is truncated or too large.
std::optional<uint64_t> take_number(std::string_view& text, uint64_t bias) {
    uint64_t number = 0, weight = 1;
    for (uint64_t k = kBase;; k += kBase) {
        const uint64_t value = text.empty() ? kBase : digit(text.front());
        if (value == kBase || weight > UINT32_MAX) return std::nullopt;
        text.remove_prefix(1);
        number += value * weight;
        if (number > UINT32_MAX) return std::nullopt;
        const uint64_t threshold = k <= bias ? kMin : k >= bias + kMax ? kMax : k - bias;
        if (value < threshold) return number;
        weight *= kBase - threshold;
    }
}

}  // namespace

bool append_utf8(std::string& out, uint32_t letter) {
    if (letter > kLastLetter || (letter >= 0xD800 && letter < 0xE000)) return false;
    const auto tail = [&](unsigned shift) { out.push_back(static_cast<char>(0x80 | (letter >> shift & 0x3F))); };
    if (letter < 0x80) {
        out.push_back(static_cast<char>(letter));
    } else if (letter < 0x800) {
        out.push_back(static_cast<char>(0xC0 | letter >> 6));
        tail(0);
    } else if (letter < 0x10000) {
        out.push_back(static_cast<char>(0xE0 | letter >> 12));
        tail(6);
        tail(0);
    } else {
        out.push_back(static_cast<char>(0xF0 | letter >> 18));
        tail(12);
        tail(6);
        tail(0);
    }
    return true;
}

std::optional<std::string> decode_punycode(std::string_view text) {
    const size_t delimiter = text.rfind('_');
    const std::string_view basic = delimiter == std::string_view::npos ? std::string_view() : text.substr(0, delimiter);
    std::vector<uint32_t> letters(basic.begin(), basic.end());
    text.remove_prefix(delimiter == std::string_view::npos ? 0 : delimiter + 1);
    if (text.empty()) return std::nullopt;
    uint64_t letter = kFirstLetter, bias = kFirstBias, position = 0;
    while (!text.empty()) {
        const auto delta = take_number(text, bias);
        if (!delta) return std::nullopt;
        const uint64_t length = letters.size() + 1;
        bias = adapted(*delta, length, position == 0 && letter == kFirstLetter);
        letter += (position + *delta) / length;
        position = (position + *delta) % length;
        if (letter > kLastLetter) return std::nullopt;
        letters.insert(letters.begin() + static_cast<std::ptrdiff_t>(position++), static_cast<uint32_t>(letter));
    }
    std::string out;
    for (const uint32_t each : letters) {
        if (!append_utf8(out, each)) return std::nullopt;
    }
    return out;
}

}  // namespace strobe::demangle
