// Debug sections as one stretch of bytes, as a fuzzer wants them: the length of each in four bytes, then their
// contents.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "dwarf/functions/entry_location.h"

namespace strobe::test {

// The last three are of the alternate file.
constexpr std::array kContained = {".debug_info",     ".debug_types",       ".debug_abbrev", ".debug_str",
                                   ".debug_line_str", ".debug_str_offsets", ".debug_addr",   ".debug_ranges",
                                   ".debug_rnglists", ".debug_line",        ".debug_info",   ".debug_abbrev",
                                   ".debug_str"};
constexpr size_t kOwn = 10;
constexpr size_t kContainerHeader = 4 * kContained.size();

// In the order of kContained; each in memory of its own, so that AddressSanitizer sees its ends.
using Contents = std::array<std::vector<uint8_t>, kContained.size()>;

inline std::vector<uint8_t> pack(const Contents& contents) {
    std::vector<uint8_t> packed(kContainerHeader);
    for (size_t index = 0; index < contents.size(); ++index) {
        const auto length = static_cast<uint32_t>(contents[index].size());
        std::memcpy(&packed[4 * index], &length, sizeof length);
        packed.insert(packed.end(), contents[index].begin(), contents[index].end());
    }
    return packed;
}

// Lengths that are too long give what is there.
inline Contents unpack(dwarf::Bytes packed) {
    Contents contents;
    if (packed.size() < kContainerHeader) return contents;
    dwarf::Bytes left = packed.subspan(kContainerHeader);
    for (size_t index = 0; index < contents.size(); ++index) {
        uint32_t length = 0;
        std::memcpy(&length, &packed[4 * index], sizeof length);
        const dwarf::Bytes taken = left.first(std::min<size_t>(length, left.size()));
        contents[index] = {taken.begin(), taken.end()};
        left = left.subspan(taken.size());
    }
    return contents;
}

inline dwarf::Sections sections_of(const Contents& contents) {
    return {contents[0], contents[1], contents[2], contents[3], contents[4],
            contents[5], contents[6], contents[7], contents[8], contents[9]};
}

inline dwarf::Sections alternate_of(const Contents& contents) {
    dwarf::Sections sections;
    sections.info = contents[kOwn];
    sections.abbrev = contents[kOwn + 1];
    sections.str = contents[kOwn + 2];
    return sections;
}

// Range lists, as lists of locations: other bytes that are damaged are as good, and the inputs keep their form.
inline dwarf::LocationLists lists_of(const Contents& contents) { return {contents[7], contents[8]}; }

}  // namespace strobe::test
