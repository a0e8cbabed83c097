#include "segment/read/sieve.h"

#include <algorithm>
#include <set>
#include <utility>

namespace strobe {
namespace {

constexpr size_t kLeastChunks = 16;  // of a window: some 30,000 events
constexpr size_t kMostChunks = 512;
constexpr size_t kChunksOfLane = 4;  // each window reads a part of one more chunk of every lane
constexpr size_t kSlack = 64;        // rows above what is to be kept, before the others are dropped
constexpr size_t kNone = SIZE_MAX;

bool is_earlier(const KeptRow& a, const KeptRow& b) { return a.number < b.number; }

}  // namespace

// Collects a window's rows.
class Sieve::Keeper {
  public:
    Keeper(const Look& asked, bool with_entries, Enters& enters)
        : asked_(asked), with_entries_(with_entries), enters_(enters) {}

    void take(const Event& event, Verdict verdict) {
        ++window_.checked;
        if (verdict == Verdict::kHolds) {
            ++window_.held;
            hold(event);
        } else if (verdict == Verdict::kUndecided) {
            ++window_.undecided;
            if (asked_.reason && (!reason_ || event.number() < reason_->number)) reason_ = row(event, verdict);
        } else if (verdict == Verdict::kAsk) {
            window_.rows.push_back(row(event, verdict));
        }
    }

    Window finish() {
        drop();
        window_.rows.insert(window_.rows.end(), held_.begin(), held_.end());
        if (reason_) window_.rows.push_back(*reason_);
        std::sort(window_.rows.begin(), window_.rows.end(), is_earlier);
        return std::move(window_);
    }

  private:
    void hold(const Event& event) {
        if (asked_.keep == 0 || (is_full_ && !is_better(event.number(), worst_))) return;
        held_.push_back(row(event, Verdict::kHolds));
        if (held_.size() / 2 > asked_.keep && held_.size() > asked_.keep + kSlack) drop();
    }

    bool is_better(uint64_t number, uint64_t than) const { return asked_.newest ? number > than : number < than; }

    void drop() {
        if (held_.size() <= asked_.keep) return;
        const auto end = held_.begin() + static_cast<std::ptrdiff_t>(asked_.keep);
        std::nth_element(held_.begin(), end, held_.end(),
                         [this](const KeptRow& a, const KeptRow& b) { return is_better(a.number, b.number); });
        held_.erase(end, held_.end());
        is_full_ = true;
        worst_ = asked_.newest ? 0 : UINT64_MAX;
        const auto [least, most] = std::minmax_element(held_.begin(), held_.end(), is_earlier);
        if (least != held_.end()) worst_ = asked_.newest ? least->number : most->number;
    }

    KeptRow row(const Event& event, Verdict verdict) {
        KeptRow kept = copy(event, verdict);
        if (!with_entries_ || event.is_enter()) return kept;
        if (const Event* entry = enters_.of(event)) {
            kept.entry = window_.entries.size();
            window_.entries.push_back(copy(*entry, Verdict::kHolds));
        }
        return kept;
    }

    KeptRow copy(const Event& event, Verdict verdict) {
        const auto values = event.values();
        KeptRow kept{event,   event.number(), window_.words.size(), values.size(), event.duration_ticks(),
                     verdict, kNone};
        kept.event.payload = nullptr;
        window_.words.insert(window_.words.end(), values.begin(), values.end());
        return kept;
    }

    const Look& asked_;
    const bool with_entries_;
    Enters& enters_;
    Window window_;
    std::vector<KeptRow> held_;
    std::optional<KeptRow> reason_;
    bool is_full_ = false;  // and then no row is kept that is not better than `worst_`
    uint64_t worst_ = 0;
};

Sieve::Sieve(const Segment& segment, Filter filter, std::optional<uint32_t> depth, bool with_entries, Decide decide)
    : segment_(segment),
      filter_(std::move(filter)),
      depth_(depth),
      with_entries_(with_entries),
      decide_(std::move(decide)),
      chunks_(segment.chunks()),
      enters_(segment, chunks_) {}

std::vector<uint64_t> Sieve::windows() const {
    const uint32_t shift = segment_.header().number_shift;
    std::set<uint32_t> lanes;
    std::vector<uint64_t> first_ticks;
    for (const ChunkSummary& chunk : chunks_) {
        if (chunk.record_count == 0 || chunk.first_ticks > filter_.latest_ticks(shift) ||
            chunk.last_ticks < filter_.earliest_ticks(shift))
            continue;
        lanes.insert(chunk.lane);
        first_ticks.push_back(chunk.first_ticks);
    }
    const size_t step = std::clamp(kChunksOfLane * lanes.size(), kLeastChunks, kMostChunks);
    std::vector<uint64_t> begins{0};
    for (size_t place = step; place < first_ticks.size(); place += step) {
        const uint64_t number = STROBE_EVENT_NUMBER(first_ticks[place], 0, shift);
        if (number > begins.back()) begins.push_back(number);
    }
    return begins;
}

Window Sieve::look(const Look& asked) {
    Filter filter = filter_;
    filter.from_number = std::max(filter.from_number, asked.low);
    filter.to_number = std::min(filter.to_number, asked.high);
    // A ring that has never wrapped is read in place; when it begins to wrap meanwhile, it is read again from copies.
    for (bool in_place = segment_.ring_is_unwrapped();; in_place = false) {
        Keeper keeper(asked, with_entries_, enters_);
        if (filter.from_number > filter.to_number || look(filter, in_place, keeper)) return keeper.finish();
    }
}

bool Sieve::look(const Filter& filter, bool in_place, Keeper& keeper) {
    const uint32_t shift = segment_.header().number_shift;
    const uint64_t earliest = filter.earliest_ticks(shift);
    const uint64_t latest = filter.latest_ticks(shift);
    const auto buffer = std::make_unique_for_overwrite<ChunkBuffer>();
    for (ChunkSummary& chunk : chunks_) {
        if (chunk.first_ticks > latest) break;  // chunks come by first ticks
        if (chunk.record_count == 0 || chunk.last_ticks < earliest) continue;
        ChunkView view;
        if (in_place ? segment_.map_chunk(chunk, view) : segment_.copy_chunk(chunk, *buffer, view))
            look_at(view, filter, chunk, keeper);
    }
    return !in_place || segment_.ring_is_unwrapped();
}

void Sieve::look_at(const ChunkView& view, const Filter& filter, ChunkSummary& chunk, Keeper& keeper) {
    enters_.enter_chunk(view);
    RecordCursor cursor(view, filter);
    for (Event event; cursor.next(event);)
        if (!depth_ || event.depth == *depth_) keeper.take(event, decide_(event, enters_));
    segment_.remember_last_ticks(chunk, cursor.last_ticks());
    if (chunk.last_ticks == UINT64_MAX) chunk.last_ticks = cursor.last_ticks();
}

}  // namespace strobe
