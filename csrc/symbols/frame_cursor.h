// Numbers of .eh_frame and .debug_frame (LSB 5.0, section 10.6), read one after the other.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace strobe::symbols {

constexpr std::uint8_t kOmittedPointer = 0xff, kIndirectPointer = 0x80;

// What was read is not what the format says.
struct Damaged {};

// Numbers of a section, one after the other. Throws Damaged at its end.
class FrameCursor {
  public:
    FrameCursor(std::span<const std::uint8_t> section, std::uint64_t address, std::size_t position)
        : section_(section), address_(address), position_(position) {}

    std::size_t position() const { return position_; }

    std::uint64_t number(std::size_t width) {
        if (position_ > section_.size() || width > section_.size() - position_) throw Damaged();
        std::uint64_t value = 0;
        std::memcpy(&value, section_.data() + position_, width);
        position_ += width;
        return value;
    }

    std::int64_t signed_number(std::size_t width) {
        const std::size_t unused = 64 - 8 * width;
        return static_cast<std::int64_t>(number(width) << unused) >> unused;
    }

    std::int64_t sleb() {
        std::uint64_t value = 0;
        for (unsigned shift = 0;;) {
            const std::uint64_t byte = number(1);
            if (shift < 64) value |= (byte & 0x7f) << shift;
            shift += 7;
            if (byte >= 0x80) continue;
            if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
            return static_cast<std::int64_t>(value);
        }
    }

    // `count` bytes.
    std::span<const std::uint8_t> block(std::uint64_t count) {
        if (position_ > section_.size() || count > section_.size() - position_) throw Damaged();
        const std::size_t start = position_;
        position_ += count;
        return section_.subspan(start, count);
    }

    std::uint64_t uleb() {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const std::uint64_t byte = number(1);
            if (shift < 64) value |= (byte & 0x7f) << shift;
            if (byte < 0x80) return value;
        }
    }

    std::string_view text() {
        const std::size_t start = position_;
        while (number(1) != 0) {
        }
        return {reinterpret_cast<const char*>(section_.data()) + start, position_ - start - 1};
    }

    // As an encoding byte (DW_EH_PE_*) says.
    std::uint64_t pointer(std::uint8_t encoding) {
        const std::uint64_t here = address_ + position_;
        std::uint64_t value = 0;
        switch (encoding & 0x0f) {
            case 0x00:
            case 0x04:
            case 0x0c:
                value = number(8);
                break;
            case 0x01:
                value = uleb();
                break;
            case 0x02:
                value = number(2);
                break;
            case 0x03:
                value = number(4);
                break;
            case 0x0a:
                value = static_cast<std::uint64_t>(signed_number(2));
                break;
            case 0x0b:
                value = static_cast<std::uint64_t>(signed_number(4));
                break;
            default:
                throw Damaged();
        }
        if ((encoding & kIndirectPointer) != 0) throw Damaged();  // nobody writes where code begins like this
        if ((encoding & 0x70) == 0x10) return here + value;
        if ((encoding & 0x70) != 0) throw Damaged();
        return value;
    }

    // Over a pointer of whatever kind.
    void skip_pointer(std::uint8_t encoding) {
        if (encoding != kOmittedPointer) pointer(encoding & 0x0f);
    }

  private:
    std::span<const std::uint8_t> section_;
    std::uint64_t address_;
    std::size_t position_;
};

}  // namespace strobe::symbols
