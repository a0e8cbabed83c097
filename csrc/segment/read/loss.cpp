#include "segment/read/loss.h"

#include <algorithm>
#include <unordered_set>

#include "segment/read/totals.h"

namespace strobe {
namespace {

// Chunks that one hand filled follow each other without a gap: the end of an evicted one is the begin of its successor.
// The last one of a hand is evicted only where its process has ended, and then the header says so; every other evicted
// run has a successor that is still there.
uint64_t find_evicted_until(const std::vector<ChunkSummary>& chunks) {
    std::unordered_set<uint64_t> present;
    for (const ChunkSummary& chunk : chunks) present.insert(chunk.sequence);
    uint64_t until = 0;
    for (const ChunkSummary& chunk : chunks) {
        const bool follows_evicted = chunk.previous_sequence != 0 && !present.contains(chunk.previous_sequence);
        if (follows_evicted) until = std::max(until, chunk.first_ticks);
    }
    return until;
}

double mean_event_bytes(const std::vector<ChunkSummary>& chunks) {
    uint64_t bytes = 0, events = 0;
    for (const ChunkSummary& chunk : chunks) {
        bytes += STROBE_CHUNK_BYTES;  // also what was left of it, as the next record had no room there
        events += chunk.record_count;
    }
    return events == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(events);
}

}  // namespace

Loss read_loss(const Segment& segment) {
    Loss loss;
    for_each_totals(segment, [&](const strobe_totals& totals) {
        loss.sampled_out += totals.sampled_out_enters + totals.sampled_out_exits;
    });
    // The header last: what a chunk that is seen as gone held is then already counted.
    const bool something_may_be_gone = !segment.ring_is_unwrapped();
    if (something_may_be_gone) {
        const std::vector<ChunkSummary> chunks = segment.chunks();
        loss.evicted_until_ticks = find_evicted_until(chunks);
        loss.event_bytes = mean_event_bytes(chunks);
    }
    const strobe_header header = segment.read_header();
    loss.evicted = header.evicted_records;
    if (loss.evicted_until_ticks) loss.evicted_until_ticks = std::max(*loss.evicted_until_ticks, header.evicted_ticks);
    if (loss.evicted == 0) {
        loss.evicted_until_ticks.reset();
        loss.event_bytes = 0;
    }
    loss.no_thread = header.lost_no_thread;
    loss.no_clock = header.lost_no_clock;
    loss.reentrant = header.lost_reentrant;
    loss.no_chunk = header.lost_no_chunk;
    loss.no_totals = header.lost_no_totals;
    return loss;
}

}  // namespace strobe
