// How many letters two names differ by.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace strobe::names {

// Distances to one wanted text: letters inserted, left out, replaced, or two neighbours exchanged; upper and lower case
// are the same. Bit-parallel, H. Hyyrö, "Explaining and Extending the Bit-parallel Approximate String Matching
// Algorithm of Myers" (2001).
class EditDistance {
  public:
    static constexpr size_t kLongest = 64;  // of the wanted text, what is longer does not count

    explicit EditDistance(std::string_view wanted);

    unsigned to(std::string_view text) const { return run(text, false); }
    // To the part of `text` that is nearest.
    unsigned to_part_of(std::string_view text) const { return run(text, true); }

  private:
    unsigned run(std::string_view text, bool is_part) const;

    std::array<uint64_t, 256> places_{};  // letter -> where it stands in the wanted text
    unsigned length_;
};

}  // namespace strobe::names
