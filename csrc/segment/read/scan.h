// Visits every match once, in no order across chunks: the way to add something up.
#pragma once

#include <memory>

#include "segment/read/cursor.h"

namespace strobe {

// Calls visit(event) for every match, and undo() when what was visited so far must be forgotten. A ring that has never
// wrapped is read in place, twice as fast; when it begins to wrap meanwhile, it is read again from copies.
template <typename Visit, typename Undo>
void scan(const Segment& segment, const Filter& filter, Visit visit, Undo undo) {
    const uint32_t shift = segment.header().number_shift;
    const auto buffer = std::make_unique_for_overwrite<ChunkBuffer>();
    for (bool in_place = segment.ring_is_unwrapped();; in_place = false) {
        for (const ChunkSummary& chunk : segment.chunks()) {
            if (chunk.first_ticks > filter.latest_ticks(shift) || chunk.last_ticks < filter.earliest_ticks(shift))
                continue;
            ChunkView view;
            if (!(in_place ? segment.map_chunk(chunk, view) : segment.copy_chunk(chunk, *buffer, view))) continue;
            RecordCursor cursor(view, filter);
            for (Event event; cursor.next(event);) visit(event);
        }
        if (!in_place || segment.ring_is_unwrapped()) return;
        undo();
    }
}

}  // namespace strobe
