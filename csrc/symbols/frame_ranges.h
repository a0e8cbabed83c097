// Which code tables of frames cover: .eh_frame and .debug_frame (DWARF 5, section 6.4; LSB 5.0, section 10.6).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace strobe::symbols {

class FrameRanges {
  public:
    // Takes the entries of a section, which is loaded at the link-time `address`; 0 for .debug_frame. Nothing of it is
    // trusted: what lies behind an entry that cannot be read is left out.
    void add(std::span<const std::uint8_t> section, std::uint64_t address, bool is_eh);
    // Whether an entry covers each of these addresses.
    std::vector<bool> cover(std::span<const std::uint64_t> addresses) const;
    // [start, end) of the entry that covers an address; nothing where none does.
    std::optional<std::pair<std::uint64_t, std::uint64_t>> around(std::uint64_t address) const;
    // [start, end) of what is covered, by address; gaps up to so many bytes are taken for padding.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> merged(std::uint64_t most_padding) const;

  private:
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;  // by start
};

}  // namespace strobe::symbols
