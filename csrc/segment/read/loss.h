// What is missing from a segment, and up to when.
#pragma once

#include <cstdint>
#include <optional>

#include "segment/file/segment.h"

namespace strobe {

// Counts of events: an enter and an exit are two.
struct Loss {
    uint64_t evicted = 0;
    // What was evicted ended at or before these ticks: later events are all still there. Absent when nothing was
    // evicted.
    std::optional<uint64_t> evicted_until_ticks;
    double event_bytes = 0;  // of those that are kept, on average; 0 where none is evicted
    uint64_t sampled_out = 0;
    uint64_t no_thread = 0;
    uint64_t no_clock = 0;
    uint64_t reentrant = 0;
    uint64_t no_chunk = 0;
    uint64_t no_totals = 0;  // calls that the totals miss; their events are there
};

Loss read_loss(const Segment& segment);

}  // namespace strobe
