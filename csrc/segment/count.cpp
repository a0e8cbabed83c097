#include "count.h"

#include <array>
#include <memory>
#include <numeric>

#include "cursor.h"

namespace strobe {
namespace {

using KindCounts = std::array<uint64_t, 2>;  // enters, exits

// Calls visit(event) for every match, and undo() when what was visited so far must be forgotten. A ring that has never
// wrapped is read in place, twice as fast; when it begins to wrap meanwhile, it is read again from copies.
template <typename Visit, typename Undo>
void scan(const Segment& segment, const Filter& filter, Visit visit, Undo undo) {
    const auto buffer = std::make_unique_for_overwrite<ChunkBuffer>();
    for (bool in_place = segment.ring_is_unwrapped();; in_place = false) {
        for (const ChunkSummary& chunk : segment.chunks()) {
            if (chunk.first_ticks > filter.latest_ticks() || chunk.last_ticks < filter.earliest_ticks()) continue;
            ChunkView view;
            if (!(in_place ? segment.map_chunk(chunk, view) : segment.copy_chunk(chunk, *buffer, view))) continue;
            RecordCursor cursor(view, filter);
            for (Event event; cursor.next(event);) visit(event);
        }
        if (!in_place || segment.ring_is_unwrapped()) return;
        undo();
    }
}

uint64_t count_everything(const Segment& segment) {
    const std::vector<ChunkSummary> chunks = segment.chunks();
    return std::accumulate(chunks.begin(), chunks.end(), uint64_t{0},
                           [](uint64_t sum, const ChunkSummary& chunk) { return sum + chunk.record_count; });
}

}  // namespace

uint64_t count(const Segment& segment, const Filter& filter) {
    if (filter.is_everything()) return count_everything(segment);
    uint64_t total = 0;
    scan(segment, filter, [&](const Event&) { ++total; }, [&] { total = 0; });
    return total;
}

std::vector<FunctionCount> count_by_function(const Segment& segment, const Filter& filter) {
    std::vector<KindCounts> counts(segment.header().function_capacity);
    scan(
        segment, filter, [&](const Event& event) { ++counts[event.function][event.is_enter() ? 0 : 1]; },
        [&] { counts.assign(counts.size(), {}); });
    std::vector<FunctionCount> found;
    for (uint32_t function = 0; function < counts.size(); ++function) {
        const auto [enters, exits] = counts[function];
        if (enters + exits > 0) found.push_back({function, enters, exits});
    }
    return found;
}

}  // namespace strobe
