// Where a filter's matches lie, chunk by chunk: one pass over the segment, from which every page is found at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "segment/file/segment.h"
#include "segment/read/filter.h"

namespace strobe::timeline {

class MatchIndex {
  public:
    // Counts the matches of every chunk. What `previous` (of the same segment and filter, or null) knows of chunks that
    // have not changed since is taken over, so that a growing segment is not read again.
    MatchIndex(const Segment& segment, const Filter& filter, const MatchIndex* previous);

    uint64_t total() const { return total_; }
    // The chunks that hold matches, by first ticks: all that a merge has to look at.
    std::vector<ChunkSummary> chunks() const;

    // A number such that `before` matches and hosts lie before it, at most `wanted`; and close to it: what is left to
    // pass over lies in few chunks.
    struct Place {
        uint64_t number;
        uint64_t before;
    };
    Place place_of(uint64_t wanted, std::span<const uint64_t> hosts) const;

  private:
    struct ChunkMatches {
        ChunkSummary summary;
        uint64_t count = 0;
        uint64_t lowest = UINT64_MAX;  // event numbers
        uint64_t highest = 0;
    };

    void count_chunk(ChunkMatches& chunk, ChunkBuffer& buffer) const;
    void count_matches(const ChunkView& view, ChunkMatches& chunk) const;
    uint64_t matches_before(uint64_t number) const;
    uint64_t matches_in_part(const ChunkMatches& chunk, uint64_t number) const;

    const Segment& segment_;
    Filter filter_;
    std::vector<ChunkMatches> chunks_;  // those with matches or that may still get some, by lowest number
    uint64_t total_ = 0;
};

}  // namespace strobe::timeline
