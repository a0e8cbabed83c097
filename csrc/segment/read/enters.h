// Finds single events again, by their number: the ENTER of a call of which the EXIT is at hand, and parents.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "segment/read/condition.h"

namespace strobe {

// The ENTERs of one chunk by number. Their payloads lie in the chunk's bytes, which must stay.
class EntersOfChunk {
  public:
    EntersOfChunk(const ChunkView& view, const Filter& only_enters);
    // The ENTER of that number, at the place of the EXIT; null where there is none.
    const Event* find(uint64_t number, const Event& exit) const;

  private:
    std::vector<Event> enters_;  // by number
};

// Looks an EXIT's ENTER up in its own chunk, which the owner names by `enter_chunk`, or in older ones of its lane.
// Fastest for EXITs in the order of the chunk. Chunks that were taken over since the list was made have no events.
class Enters : public Entry {
  public:
    // `chunks`: by first_ticks, as Segment::chunks() has them.
    Enters(const Segment& segment, std::span<const ChunkSummary> chunks);

    void enter_chunk(const ChunkView& view);
    // The event stays valid until the next call of anything here.
    const Event* of(const Event& exit) override;
    // Number of the parent of the event with this number; see parent.h.
    std::optional<uint64_t> parent_of(uint64_t number);

  private:
    struct Known {
        uint64_t sequence;
        std::unique_ptr<ChunkBuffer> buffer;
        std::optional<EntersOfChunk> enters;  // none: the chunk is gone
    };
    const Event* among_open(uint64_t number, const Event& exit);
    const EntersOfChunk* older(const ChunkSummary& summary);

    const Segment& segment_;
    const Filter only_enters_;
    std::unordered_map<uint32_t, std::vector<ChunkSummary>> lanes_;  // by lane, each by first_ticks
    ChunkView view_;
    std::optional<RecordCursor> ahead_;  // over the chunk's ENTERs, up to the EXIT that was asked for last
    std::optional<Event> next_;          // the first one that was not passed
    std::vector<Event> open_;            // by depth the last one that was
    std::optional<EntersOfChunk> own_;
    std::list<Known> known_;  // latest use first
};

}  // namespace strobe
