#include "segment/read/filter.h"

#include <algorithm>

namespace strobe {
namespace {

// Ticks from which on every event of that lane has a number of at least `number`.
uint64_t ticks_at_number(uint64_t number, uint32_t lane, uint32_t number_shift) {
    const uint32_t within = number & (STROBE_LANES - 1);
    const uint64_t moment = (number >> STROBE_LANE_BITS) + (lane < within ? 1 : 0);
    return moment > UINT64_MAX >> number_shift ? UINT64_MAX : moment << number_shift;
}

}  // namespace

FunctionSet::FunctionSet(std::span<const uint32_t> ids) {
    for (const uint32_t id : ids) insert(id);
}

void FunctionSet::insert(uint32_t id) {
    if (id >= 1u << 24) return;  // no segment has so many functions; keeps a wild id from taking memory
    if (id / 64 >= words_.size()) words_.resize(id / 64 + 1);
    words_[id / 64] |= uint64_t{1} << (id % 64);
}

ReturnTests::ReturnTests(std::span<const Row> rows) {
    for (const Row& row : rows) {
        if (row.function >= 1u << 24) continue;  // as in FunctionSet
        if (row.function >= rows_.size()) rows_.resize(row.function + 1);
        rows_[row.function] = row;
    }
}

Spans::Spans(std::vector<Row> rows) {
    std::sort(rows.begin(), rows.end(),
              [](const Row& a, const Row& b) { return a.thread != b.thread ? a.thread < b.thread : a.from < b.from; });
    for (const Row& row : rows) {
        if (!rows_.empty() && rows_.back().thread == row.thread && row.from <= rows_.back().to) {
            rows_.back().to = std::max(rows_.back().to, row.to);
        } else {
            rows_.push_back(row);
        }
    }
}

std::span<const Spans::Row> Spans::of(uint64_t thread) const {
    const auto first =
        std::partition_point(rows_.begin(), rows_.end(), [&](const Row& a) { return a.thread < thread; });
    const auto end = std::partition_point(first, rows_.end(), [&](const Row& a) { return a.thread == thread; });
    return {first, end};
}

uint64_t Filter::first_ticks(uint32_t lane, uint32_t number_shift) const {
    return std::max(from_ticks, ticks_at_number(from_number, lane, number_shift));
}

uint64_t Filter::last_ticks(uint32_t lane, uint32_t number_shift) const {
    if (to_number == UINT64_MAX) return to_ticks;
    const uint64_t beyond = ticks_at_number(to_number + 1, lane, number_shift);
    // beyond == 0: no event of that lane is low enough; no event has ticks 0 either, sessions start before them.
    return beyond == 0 ? 0 : std::min(to_ticks, beyond - 1);
}

bool Filter::is_everything() const {
    const uint8_t both = kind_bit(STROBE_RECORD_ENTER) | kind_bit(STROBE_RECORD_EXIT);
    return from_ticks == 0 && to_ticks == UINT64_MAX && from_number == 0 && to_number == UINT64_MAX &&
           (kinds & both) == both && min_duration_ticks == 0 && !functions && !threads && !tid && !returns && !spans;
}

}  // namespace strobe
