#include "symbols/frame_ranges.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace strobe::symbols {

namespace {

constexpr std::uint32_t kLongFormat = 0xffffffff;
constexpr std::uint8_t kOmitted = 0xff, kIndirect = 0x80;

struct Damaged {};

// Numbers of a section, one after the other. Throws Damaged at its end.
class Cursor {
  public:
    Cursor(std::span<const std::uint8_t> section, std::uint64_t address, std::size_t position)
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
        if ((encoding & kIndirect) != 0) throw Damaged();  // nobody writes where code begins like this
        if ((encoding & 0x70) == 0x10) return here + value;
        if ((encoding & 0x70) != 0) throw Damaged();
        return value;
    }

    // Over a pointer of whatever kind.
    void skip_pointer(std::uint8_t encoding) {
        if (encoding != kOmitted) pointer(encoding & 0x0f);
    }

  private:
    std::span<const std::uint8_t> section_;
    std::uint64_t address_;
    std::size_t position_;
};

// How the entries that refer to a common one write addresses; nothing where that is not known.
std::optional<std::uint8_t> encoding_of(Cursor common) {
    const std::uint64_t version = common.number(1);
    const std::string_view augmentation = common.text();
    if (version >= 4) common.number(2);  // sizes of addresses and segments
    common.uleb();
    common.uleb();  // as long as the signed one
    if (version == 1) {
        common.number(1);
    } else {
        common.uleb();
    }
    if (augmentation.empty() || augmentation[0] != 'z') {
        const bool is_known = augmentation.empty() || augmentation == "S" || augmentation == "armcc+";
        return is_known ? std::optional<std::uint8_t>(0) : std::nullopt;
    }
    common.uleb();
    for (const char letter : augmentation.substr(1)) {
        if (letter == 'R') return static_cast<std::uint8_t>(common.number(1));
        if (letter == 'L') {
            common.number(1);
        } else if (letter == 'P') {
            common.skip_pointer(static_cast<std::uint8_t>(common.number(1)));
        } else if (letter != 'S' && letter != 'B') {
            return std::nullopt;
        }
    }
    return 0;
}

}  // namespace

void FrameRanges::add(std::span<const std::uint8_t> section, std::uint64_t address, bool is_eh) {
    std::unordered_map<std::size_t, std::optional<std::uint8_t>> encodings;
    const auto encoding_at = [&](std::size_t offset) {
        const auto known = encodings.find(offset);
        if (known != encodings.end()) return known->second;
        Cursor common(section, address, offset);
        const bool is_long = common.number(4) == kLongFormat;
        if (is_long) common.number(8);
        common.number(is_long && !is_eh ? 8 : 4);
        return encodings[offset] = encoding_of(common);
    };
    try {
        for (std::size_t offset = 0; offset + 4 <= section.size();) {
            Cursor entry(section, address, offset);
            std::uint64_t length = entry.number(4);
            const bool is_long = length == kLongFormat;
            if (is_long) length = entry.number(8);
            if (length == 0 && is_eh) break;  // the last one
            const std::size_t start = entry.position();
            if (length > section.size() - start) break;
            offset = start + length;
            if (length == 0) continue;
            const std::size_t width = is_long && !is_eh ? 8 : 4;
            const std::uint64_t link = entry.number(width);
            const std::uint64_t common = is_eh ? 0 : width == 8 ? ~std::uint64_t{0} : kLongFormat;
            if (link == common || (is_eh && link > start)) continue;
            const auto encoding = encoding_at(is_eh ? start - link : link);
            if (!encoding) continue;
            const std::uint64_t first = entry.pointer(*encoding);
            const std::uint64_t size = entry.pointer(*encoding & 0x0f);
            if (first != 0 && size != 0) ranges_.emplace_back(first, first + size);
        }
    } catch (const Damaged&) {  // what came before is right
    }
    std::ranges::sort(ranges_);
}

std::vector<bool> FrameRanges::cover(std::span<const std::uint64_t> addresses) const {
    std::vector<bool> found;
    found.reserve(addresses.size());
    for (const std::uint64_t address : addresses) {
        const auto next =
            std::ranges::upper_bound(ranges_, address, {}, &std::pair<std::uint64_t, std::uint64_t>::first);
        found.push_back(next != ranges_.begin() && address < std::prev(next)->second);
    }
    return found;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> FrameRanges::merged(std::uint64_t most_padding) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
    for (const auto& [start, end] : ranges_) {
        if (!found.empty() && start <= found.back().second + most_padding) {
            found.back().second = std::max(found.back().second, end);
        } else {
            found.emplace_back(start, end);
        }
    }
    return found;
}

}  // namespace strobe::symbols
