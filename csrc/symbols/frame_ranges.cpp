#include "symbols/frame_ranges.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "symbols/frame_cursor.h"

namespace strobe::symbols {

namespace {

constexpr std::uint32_t kLongFormat = 0xffffffff;

// How the entries that refer to a common one write addresses; nothing where that is not known.
std::optional<std::uint8_t> encoding_of(FrameCursor common) {
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
        FrameCursor common(section, address, offset);
        const bool is_long = common.number(4) == kLongFormat;
        if (is_long) common.number(8);
        common.number(is_long && !is_eh ? 8 : 4);
        return encodings[offset] = encoding_of(common);
    };
    try {
        for (std::size_t offset = 0; offset + 4 <= section.size();) {
            FrameCursor entry(section, address, offset);
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
    for (const std::uint64_t address : addresses) found.push_back(around(address).has_value());
    return found;
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> FrameRanges::around(std::uint64_t address) const {
    const auto next = std::ranges::upper_bound(ranges_, address, {}, &std::pair<std::uint64_t, std::uint64_t>::first);
    if (next == ranges_.begin() || address >= std::prev(next)->second) return std::nullopt;
    return *std::prev(next);
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
