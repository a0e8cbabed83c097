#include "symbols/instruction_length.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace strobe::symbols {

namespace {

constexpr size_t kLongest = 15;

// What follows an opcode (Intel's manual, volume 2, appendix A).
enum Follows : uint8_t {
    kUnknown = 0,
    kPlain = 1,  // nothing but what other bits say
    kModrm = 2,
    kByte = 4,  // an immediate of 1 byte
    kFull = 8,  // one of 4, 2 behind the prefix 0x66
};
using Table = std::array<uint8_t, 256>;
using Ranges = std::initializer_list<std::pair<int, int>>;

constexpr void add(Table& table, uint8_t follows, Ranges ranges) {
    for (const auto& [first, last] : ranges)
        for (int opcode = first; opcode <= last; ++opcode) table[static_cast<size_t>(opcode)] |= follows;
}

constexpr Table of_one_byte() {
    Table table{};
    for (int base = 0; base < 0x40; base += 8) {
        add(table, kModrm, {{base, base + 3}});
        add(table, kByte, {{base + 4, base + 4}});
        add(table, kFull, {{base + 5, base + 5}});
    }
    add(table, kModrm, {{0x63, 0x63}, {0x69, 0x69}, {0x6b, 0x6b}, {0x80, 0x81}, {0x83, 0x8f}, {0xc0, 0xc1}});
    add(table, kModrm, {{0xc6, 0xc7}, {0xd0, 0xd3}, {0xd8, 0xdf}, {0xf6, 0xf7}, {0xfe, 0xff}});
    add(table, kByte, {{0x6a, 0x6b}, {0x70, 0x80}, {0x83, 0x83}, {0xa8, 0xa8}, {0xb0, 0xb7}, {0xc0, 0xc1}});
    add(table, kByte, {{0xc6, 0xc6}, {0xcd, 0xcd}, {0xe0, 0xe7}, {0xeb, 0xeb}});
    add(table, kFull, {{0x68, 0x69}, {0x81, 0x81}, {0xa9, 0xa9}, {0xb8, 0xbf}, {0xc7, 0xc7}});
    add(table, kPlain, {{0x50, 0x5f}, {0x6c, 0x6f}, {0x90, 0x99}, {0x9b, 0x9f}, {0xa4, 0xa7}, {0xaa, 0xaf}});
    add(table, kPlain, {{0xc3, 0xc3}, {0xc9, 0xc9}, {0xcb, 0xcc}, {0xcf, 0xcf}, {0xd7, 0xd7}, {0xec, 0xef}});
    add(table, kPlain, {{0xf1, 0xf1}, {0xf4, 0xf5}, {0xf8, 0xfd}});
    return table;
}

// Behind 0x0f.
constexpr Table of_two_bytes() {
    Table table{};
    add(table, kModrm, {{0x00, 0xff}});
    for (const auto& [first, last] : Ranges{{0x05, 0x09},
                                            {0x0b, 0x0b},
                                            {0x0e, 0x0e},
                                            {0x30, 0x35},
                                            {0x37, 0x37},
                                            {0x77, 0x77},
                                            {0xa0, 0xa2},
                                            {0xa8, 0xaa},
                                            {0xc8, 0xcf}})
        for (int opcode = first; opcode <= last; ++opcode) table[static_cast<size_t>(opcode)] = kPlain;
    for (const auto& [first, last] : Ranges{{0x04, 0x04},
                                            {0x0a, 0x0a},
                                            {0x0c, 0x0c},
                                            {0x24, 0x27},
                                            {0x36, 0x36},
                                            {0x39, 0x39},
                                            {0x3b, 0x3f},
                                            {0x78, 0x78}})
        for (int opcode = first; opcode <= last; ++opcode) table[static_cast<size_t>(opcode)] = kUnknown;
    add(table, kByte, {{0x0f, 0x0f}, {0x70, 0x73}, {0xa4, 0xa4}, {0xac, 0xac}, {0xba, 0xba}, {0xc2, 0xc2}});
    add(table, kByte, {{0xc4, 0xc6}});
    return table;
}

constexpr Table kOneByte = of_one_byte(), kTwoBytes = of_two_bytes();

// Of one instruction; all give 0 where it is cut.
class Length {
  public:
    explicit Length(std::span<const uint8_t> code) : code_(code.first(std::min(code.size(), kLongest))) {}

    size_t find() {
        prefixes();
        const uint8_t opcode = byte();
        if (opcode == 0x0f)
            behind_0f();
        else if (opcode == 0xc5 || opcode == 0xc4 || opcode == 0x62)
            extended(opcode);
        else
            plain(opcode);
        return is_known_ && at_ <= code_.size() ? at_ : 0;
    }

  private:
    // Behind the end, 0: the length then is more than there is.
    [[nodiscard]] uint8_t peek() const { return at_ < code_.size() ? code_[at_] : uint8_t{0}; }
    uint8_t byte() {
        const uint8_t value = peek();
        ++at_;
        return value;
    }

    void prefixes() {
        for (;; ++at_) {
            const uint8_t value = peek();
            if (at_ >= code_.size()) return;
            const bool is_segment = (value & 0xe7) == 0x26 || value == 0x64 || value == 0x65;
            const bool is_other = value == 0xf0 || value == 0xf2 || value == 0xf3;
            is_short_ |= value == 0x66;
            is_narrow_ |= value == 0x67;
            if (!is_segment && !is_other && value != 0x66 && value != 0x67) break;
        }
        if ((peek() & 0xf0) == 0x40) is_wide_ = (byte() & 8) != 0;
    }

    void plain(uint8_t opcode) {
        const size_t full = is_short_ && !is_wide_ ? 2 : 4;
        const uint8_t follows = kOneByte[opcode];
        if (opcode == 0xc2 || opcode == 0xca) return skip(2);
        if (opcode == 0xc8) return skip(3);
        if (opcode == 0xe8 || opcode == 0xe9) return skip(4);
        if (opcode >= 0xa0 && opcode <= 0xa3) return skip(is_narrow_ ? 4 : 8);
        if (opcode >= 0xb8 && opcode <= 0xbf && is_wide_) return skip(8);
        const bool is_xop = opcode == 0x8f && (peek() >> 3 & 7) != 0;  // of AMD
        if (follows == kUnknown || is_xop) {
            is_known_ = false;
            return;
        }
        const bool tests = (opcode == 0xf6 || opcode == 0xf7) && (peek() >> 3 & 7) < 2;
        if ((follows & kModrm) != 0) modrm();
        if ((follows & kByte) != 0 || (tests && opcode == 0xf6)) skip(1);
        if ((follows & kFull) != 0 || (tests && opcode == 0xf7)) skip(full);
    }

    void behind_0f() {
        const uint8_t opcode = byte();
        if (opcode >= 0x80 && opcode <= 0x8f) return skip(4);
        if (opcode == 0x38 || opcode == 0x3a) {
            skip(1);
            modrm();
            return skip(opcode == 0x3a ? 1 : 0);
        }
        const uint8_t follows = kTwoBytes[opcode];
        is_known_ = follows != kUnknown;
        if ((follows & kModrm) != 0) modrm();
        if ((follows & kByte) != 0) skip(1);
    }

    // Of AVX and AVX-512: a map of opcodes is named by a number.
    void extended(uint8_t prefix) {
        const int map = prefix == 0xc5 ? 1 : peek() & (prefix == 0xc4 ? 0x1f : 7);
        skip(prefix == 0xc5 ? 1 : prefix == 0xc4 ? 2 : 3);
        const uint8_t opcode = byte();
        if (map == 1 && opcode == 0x77 && prefix != 0x62) return;
        is_known_ = map == 1 || map == 2 || map == 3 || map == 5 || map == 6;
        modrm();
        if (map == 3 || (map == 1 && (kTwoBytes[opcode] & kByte) != 0)) skip(1);
    }

    void modrm() {
        const uint8_t value = byte();
        const int mode = value >> 6, low = value & 7;
        if (mode == 3) return;
        bool has_wide = mode == 2 || (mode == 0 && low == 5);
        if (low == 4) has_wide |= (byte() & 7) == 5 && mode == 0;
        skip(has_wide ? 4 : static_cast<size_t>(mode));
    }

    void skip(size_t bytes) { at_ += bytes; }

    const std::span<const uint8_t> code_;
    size_t at_ = 0;
    bool is_short_ = false, is_narrow_ = false, is_wide_ = false;
    bool is_known_ = true;
};

}  // namespace

size_t instruction_length(std::span<const uint8_t> code) { return Length(code).find(); }

}  // namespace strobe::symbols
