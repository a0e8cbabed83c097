#include "segment/read/enters.h"

#include <algorithm>

#include "segment/read/parent.h"

namespace strobe {
namespace {

constexpr size_t kChunksKept = 16;
constexpr size_t kSharedLooked = 64;  // chunks of the lane that many threads share, as their times overlap

Filter only_enters() {
    Filter filter;
    filter.kinds = kind_bit(STROBE_RECORD_ENTER);
    return filter;
}

}  // namespace

EntersOfChunk::EntersOfChunk(const ChunkView& view, const Filter& only_enters) {
    RecordCursor cursor(view, only_enters);
    for (Event event; cursor.next(event);) enters_.push_back(event);
    const auto is_earlier = [](const Event& a, const Event& b) { return a.number() < b.number(); };
    if (!std::is_sorted(enters_.begin(), enters_.end(), is_earlier))
        std::stable_sort(enters_.begin(), enters_.end(), is_earlier);
}

const Event* EntersOfChunk::find(uint64_t number, const Event& exit) const {
    auto place = std::lower_bound(enters_.begin(), enters_.end(), number,
                                  [](const Event& event, uint64_t asked) { return event.number() < asked; });
    for (; place != enters_.end() && place->number() == number; ++place)
        if (place->thread_index == exit.thread_index && place->depth == exit.depth) return &*place;
    return nullptr;
}

Enters::Enters(const Segment& segment, std::span<const ChunkSummary> chunks)
    : segment_(segment), only_enters_(only_enters()) {
    for (const ChunkSummary& chunk : chunks) lanes_[chunk.lane % STROBE_LANES].push_back(chunk);
}

void Enters::enter_chunk(const ChunkView& view) {
    view_ = view;
    ahead_.reset();
    next_.reset();
    open_.clear();
    own_.reset();
}

const Event* Enters::of(const Event& exit) {
    const std::optional<uint64_t> number = exit.is_enter() ? std::nullopt : find_parent(view_, exit, 0);
    if (!number) return nullptr;
    const uint64_t first = segment_.ticks_of(*number);
    const uint64_t last = first + ((uint64_t{1} << exit.number_shift) - 1);
    if (last >= view_.header().first_ticks) {
        if (const Event* found = among_open(*number, exit)) return found;
        if (!own_) own_.emplace(view_, only_enters_);
        if (const Event* found = own_->find(*number, exit)) return found;
    }
    const std::vector<ChunkSummary>& chunks = lanes_[exit.lane];
    auto place = std::upper_bound(chunks.begin(), chunks.end(), last,
                                  [](uint64_t asked, const ChunkSummary& chunk) { return asked < chunk.first_ticks; });
    for (size_t looked = 0; looked < kSharedLooked && place != chunks.begin(); ++looked) {
        const EntersOfChunk* enters = older(*--place);
        const Event* found = enters ? enters->find(*number, exit) : nullptr;
        if (found) return found;
        // One that begins at that moment may hold what came after it; older ones end before the first that does not.
        if (exit.lane != STROBE_LANE_SHARED && place->first_ticks < first) break;
    }
    return nullptr;
}

// The last ENTER before the EXIT at its depth is nearly always the one.
const Event* Enters::among_open(uint64_t number, const Event& exit) {
    const auto step = [this] {
        Event event;
        next_ = ahead_->next(event) ? std::optional(event) : std::nullopt;
    };
    if (!ahead_) {
        ahead_.emplace(view_, only_enters_);
        step();
    }
    for (; next_ && next_->number() < exit.number(); step()) {
        if (next_->depth >= open_.size()) open_.resize(next_->depth + 1u);
        open_[next_->depth] = *next_;
    }
    if (exit.depth >= open_.size()) return nullptr;
    const Event& found = open_[exit.depth];
    const bool is_one = found.payload && found.number() == number && found.thread_index == exit.thread_index;
    return is_one ? &found : nullptr;
}

std::optional<uint64_t> Enters::parent_of(uint64_t number) {
    const uint32_t shift = segment_.header().number_shift;
    const auto lane = static_cast<uint32_t>(number & (STROBE_LANES - 1));
    const uint64_t first = segment_.ticks_of(number);
    const uint64_t last = first + ((uint64_t{1} << shift) - 1);
    Filter filter;
    filter.from_number = number;
    filter.to_number = number;
    const auto buffer = std::make_unique<ChunkBuffer>();
    for (auto chunk = lanes_[lane].rbegin(); chunk != lanes_[lane].rend(); ++chunk) {
        ChunkView view;
        if (chunk->first_ticks > last || chunk->last_ticks < first) continue;
        if (!segment_.copy_chunk(*chunk, *buffer, view)) continue;
        RecordCursor cursor(view, filter);
        Event event;
        if (cursor.next(event)) return find_parent(view, event, cursor.offset());
        if (lane != STROBE_LANE_SHARED && chunk->first_ticks < first) break;  // older ones end before it begins
    }
    return std::nullopt;
}

const EntersOfChunk* Enters::older(const ChunkSummary& summary) {
    auto place = std::find_if(known_.begin(), known_.end(),
                              [&](const Known& known) { return known.sequence == summary.sequence; });
    if (place == known_.end()) {
        known_.push_front({summary.sequence, std::make_unique<ChunkBuffer>(), std::nullopt});
        ChunkView view;
        Known& made = known_.front();
        if (segment_.copy_chunk(summary, *made.buffer, view)) made.enters.emplace(view, only_enters_);
    } else {
        known_.splice(known_.begin(), known_, place);
    }
    while (known_.size() > kChunksKept) known_.pop_back();
    return known_.front().enters ? &*known_.front().enters : nullptr;
}

}  // namespace strobe
