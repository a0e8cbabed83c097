#include "match_index.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "segment/read/cursor.h"

namespace strobe::timeline {

MatchIndex::MatchIndex(const Segment& segment, const Filter& filter, const MatchIndex* previous)
    : segment_(segment), filter_(filter) {
    std::unordered_map<uint64_t, const ChunkMatches*> known;
    if (previous) {
        for (const ChunkMatches& chunk : previous->chunks_) known[chunk.summary.sequence] = &chunk;
    }
    const auto buffer = std::make_unique<ChunkBuffer>();
    for (const ChunkSummary& summary : segment.chunks()) {
        const auto found = known.find(summary.sequence);
        ChunkMatches chunk{summary};
        if (found != known.end() && found->second->summary.record_count == summary.record_count) {
            chunk = *found->second;
        } else {
            count_chunk(chunk, *buffer);
        }
        total_ += chunk.count;
        chunks_.push_back(chunk);
    }
    std::sort(chunks_.begin(), chunks_.end(), [](const auto& a, const auto& b) { return a.lowest < b.lowest; });
}

void MatchIndex::count_chunk(ChunkMatches& chunk, ChunkBuffer& buffer) const {
    const uint32_t shift = segment_.header().number_shift;
    if (chunk.summary.first_ticks > filter_.latest_ticks(shift) ||
        chunk.summary.last_ticks < filter_.earliest_ticks(shift))
        return;
    ChunkView view;
    // Reading in place is twice as fast, and right as long as no chunk was taken over by the end of it.
    if (segment_.ring_is_unwrapped() && segment_.map_chunk(chunk.summary, view)) {
        const ChunkMatches untouched = chunk;
        count_matches(view, chunk);
        if (segment_.ring_is_unwrapped()) return;
        chunk = untouched;
    }
    if (segment_.copy_chunk(chunk.summary, buffer, view)) count_matches(view, chunk);
}

void MatchIndex::count_matches(const ChunkView& view, ChunkMatches& chunk) const {
    RecordCursor cursor(view, filter_);
    for (Event event; cursor.next(event);) {
        const uint64_t number = event.number();
        ++chunk.count;
        chunk.lowest = std::min(chunk.lowest, number);
        chunk.highest = std::max(chunk.highest, number);
    }
    segment_.remember_last_ticks(chunk.summary, cursor.last_ticks());
}

std::vector<ChunkSummary> MatchIndex::chunks() const {
    std::vector<ChunkSummary> found;
    for (const ChunkMatches& chunk : chunks_) {
        if (!chunk.count) continue;
        found.push_back(chunk.summary);
        // what is full gets no more matches, so a merge that begins later need not open it
        if (chunk.summary.state == STROBE_CHUNK_FULL) {
            const uint64_t moment_ticks = uint64_t{1} << segment_.header().number_shift;
            found.back().last_ticks = segment_.ticks_of(chunk.highest) + moment_ticks - 1;
        }
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first_ticks < b.first_ticks; });
    return found;
}

MatchIndex::Place MatchIndex::place_of(uint64_t wanted, std::span<const uint64_t> hosts) const {
    auto before = [&](uint64_t number) {
        const auto host = std::lower_bound(hosts.begin(), hosts.end(), number);
        return matches_before(number) + static_cast<uint64_t>(host - hosts.begin());
    };
    Place best{0, 0};
    size_t low = 0;
    size_t high = chunks_.size();
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const uint64_t number = chunks_[middle].lowest;
        const uint64_t found = number == UINT64_MAX ? UINT64_MAX : before(number);
        if (found > wanted) {
            high = middle;
        } else {
            best = {number, found};
            low = middle + 1;
        }
    }
    return best;
}

uint64_t MatchIndex::matches_before(uint64_t number) const {
    uint64_t found = 0;
    for (const ChunkMatches& chunk : chunks_) {
        if (chunk.lowest >= number) break;
        found += chunk.highest < number ? chunk.count : matches_in_part(chunk, number);
    }
    return found;
}

uint64_t MatchIndex::matches_in_part(const ChunkMatches& chunk, uint64_t number) const {
    const auto buffer = std::make_unique<ChunkBuffer>();
    ChunkView view;
    if (!segment_.copy_chunk(chunk.summary, *buffer, view)) return 0;
    Filter filter = filter_;
    filter.to_number = std::min(filter.to_number, number - 1);
    RecordCursor cursor(view, filter);
    uint64_t found = 0;
    for (Event event; cursor.next(event);) ++found;
    return found;
}

}  // namespace strobe::timeline
