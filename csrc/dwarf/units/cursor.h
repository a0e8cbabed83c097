// Reading of untrusted bytes: every read is checked against the end of what it reads from.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace strobe::dwarf {

using Bytes = std::span<const uint8_t>;

// The bytes cannot be what they should be.
class DwarfError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Little-endian numbers, LEB128 (DWARF 5 section 7.6) and strings, one after the other.
class Cursor {
  public:
    Cursor(Bytes bytes, uint64_t position) : bytes_(bytes), position_(position) {
        if (position > bytes.size()) throw DwarfError("an offset outside its section");
    }

    uint64_t position() const { return position_; }
    uint64_t left() const { return bytes_.size() - position_; }

    void skip(uint64_t count) {
        if (count > left()) throw DwarfError("the data ends too early");
        position_ += count;
    }
    uint8_t u8() {
        if (position_ >= bytes_.size()) throw DwarfError("the data ends too early");
        return bytes_[position_++];
    }
    // A number of 0 to 8 bytes.
    uint64_t fixed(unsigned width) {
        uint64_t value = 0;
        const uint64_t start = position_;
        skip(width);
        std::memcpy(&value, bytes_.data() + start, width);
        return value;
    }
    uint64_t uleb() {
        uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const uint8_t byte = u8();
            if (shift < 64) value |= uint64_t{byte & 127u} << shift;
            if (byte < 128) return value;
        }
    }
    int64_t sleb() {
        uint64_t value = 0;
        for (unsigned shift = 0;;) {
            const uint8_t byte = u8();
            if (shift < 64) value |= uint64_t{byte & 127u} << shift;
            shift += 7;
            if (byte >= 128) continue;
            if (shift < 64 && (byte & 64) != 0) value |= ~uint64_t{0} << shift;
            return static_cast<int64_t>(value);
        }
    }
    void skip_leb() {
        while (u8() >= 128) {
        }
    }
    std::string_view text() {
        const uint8_t* start = bytes_.data() + position_;
        const void* end = left() == 0 ? nullptr : std::memchr(start, 0, left());
        if (end == nullptr) throw DwarfError("an unterminated string");
        const size_t length = static_cast<const uint8_t*>(end) - start;
        position_ += length + 1;
        return {reinterpret_cast<const char*>(start), length};
    }

  private:
    Bytes bytes_;
    uint64_t position_;
};

}  // namespace strobe::dwarf
