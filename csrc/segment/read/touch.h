// Which events may have to do with an address: more than those that have, as the words of a record are not told apart.
#pragma once

#include <cstdint>

#include "segment/read/cursor.h"

namespace strobe {

// Whether the address is a word of the event's values, lies in eight bytes of them at any place, or within a stretch of
// memory that was recorded: an item of a recipe, or a text behind its pointer.
inline bool may_touch(const Event& event, uint64_t address) {
    const auto words = event.values();
    uint64_t before = 0;
    for (size_t place = 0; place < words.size(); ++place) {
        const uint64_t word = words[place];
        if (word == address) return true;
        if (address - (word >> STROBE_ITEM_ADDRESS_SHIFT) < (word & ((1u << STROBE_ITEM_STATUS_SHIFT) - 1)))
            return true;
        if (place > 0) {
            if (address - before < (word & STROBE_TEXT_KEPT)) return true;
            if (address - word < (before & ((1u << STROBE_ITEM_STATUS_SHIFT) - 1)))
                return true;  // an item that was cut
            for (unsigned shift = 8; shift < 64; shift += 8)
                if ((before >> shift | word << (64 - shift)) == address) return true;
        }
        before = word;
    }
    return false;
}

}  // namespace strobe
