// A decoded ENTER or EXIT record.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "abi/strobe_abi.h"

namespace strobe {

// Plain and cheap to copy. `payload` points into the chunk that the event was read from (a private copy), and is valid
// as long as the cursor that gave it stays where it is.
struct Event {
    uint64_t ticks;           // since session start
    const uint64_t* payload;  // payload_words words
    uint32_t function;        // 1 .. function_capacity - 1
    uint32_t tid;
    uint16_t thread_index;
    uint16_t depth;
    uint8_t kind;   // STROBE_RECORD_ENTER or STROBE_RECORD_EXIT
    uint8_t flags;  // STROBE_FLAG_*
    uint16_t payload_words;
    uint16_t lane;
    uint8_t number_shift;

    uint64_t number() const { return STROBE_EVENT_NUMBER(ticks, lane, number_shift); }
    bool is_enter() const { return kind == STROBE_RECORD_ENTER; }

    // What was captured: of the arguments for an ENTER, of what is returned for an EXIT; then extras.
    std::span<const uint64_t> values() const {
        const size_t skipped = is_enter() || payload_words == 0 ? 0 : 1;
        return {payload + skipped, payload_words - skipped};
    }
    // Of an EXIT; the decoder lets no EXIT pass that has none.
    uint64_t duration_ticks() const { return is_enter() ? 0 : payload[0]; }
    std::optional<uint64_t> return_word() const {
        if (is_enter() || !(flags & STROBE_FLAG_HAS_RETURN) || payload_words < 2) return std::nullopt;
        return payload[1];
    }
};

}  // namespace strobe
