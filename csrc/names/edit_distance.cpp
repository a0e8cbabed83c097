#include "names/edit_distance.h"

#include <algorithm>

namespace strobe::names {
namespace {

unsigned char folded(char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return byte >= 'A' && byte <= 'Z' ? static_cast<unsigned char>(byte + 32) : byte;
}

}  // namespace

EditDistance::EditDistance(std::string_view wanted)
    : length_(static_cast<unsigned>(std::min(wanted.size(), kLongest))) {
    for (unsigned index = 0; index < length_; ++index) places_[folded(wanted[index])] |= uint64_t{1} << index;
}

unsigned EditDistance::run(std::string_view text, bool is_part) const {
    if (length_ == 0) return is_part ? 0 : static_cast<unsigned>(text.size());
    const uint64_t last = uint64_t{1} << (length_ - 1);
    uint64_t up = ~uint64_t{0}, down = 0, diagonal = 0, before = 0;
    unsigned distance = length_, least = length_;
    for (const char letter : text) {
        const uint64_t here = places_[folded(letter)];
        const uint64_t exchanged = ((~diagonal & here) << 1) & before;
        diagonal = (((here & up) + up) ^ up) | here | down | exchanged;
        uint64_t right = down | ~(diagonal | up);
        uint64_t left = diagonal & up;
        distance += (right & last) != 0;
        distance -= (left & last) != 0;
        least = std::min(least, distance);
        right = right << 1 | (is_part ? 0 : 1);
        left <<= 1;
        up = left | ~(diagonal | right);
        down = right & diagonal;
        before = here;
    }
    return is_part ? least : distance;
}

}  // namespace strobe::names
