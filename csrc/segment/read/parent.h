// Who called: the event that an event hangs below in the call tree.
#pragma once

#include <cstdint>
#include <optional>

#include "segment/read/cursor.h"

namespace strobe {

// An EXIT's parent is its own ENTER. An ENTER's parent is the ENTER of the innermost enclosing frame that has a record.
// `end_offset` is the byte offset just behind the event in its chunk (RecordCursor::offset). Returns the event's
// number, or nothing for an outermost call and where the frame lies deeper than a chunk's header remembers. The parent
// may itself have been evicted.
std::optional<uint64_t> find_parent(const ChunkView& view, const Event& event, uint32_t end_offset);

}  // namespace strobe
