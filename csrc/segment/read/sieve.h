// Looks at many events, and hands out those that matter: window by window, so that it can begin at either end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "segment/read/enters.h"

namespace strobe {

// An event that was kept. `words`: where its values lie in Window::words.
struct KeptRow {
    Event event;  // its payload is null
    uint64_t number;
    size_t first_word;
    size_t word_count;
    uint64_t duration_ticks;  // 0 for an ENTER
    Verdict verdict;
    size_t entry;  // in Window::entries: of an EXIT the call's ENTER; SIZE_MAX: not asked for, or not recorded
};

// What one look has found. `held` and `undecided` are of events that were decided here; the others are in `rows`.
struct Window {
    uint64_t checked = 0;
    uint64_t held = 0;
    uint64_t undecided = 0;
    // By number: all that have to be decoded, the first ones or last ones of those that hold, and the first one that is
    // undecided.
    std::vector<KeptRow> rows;
    std::vector<KeptRow> entries;
    std::vector<uint64_t> words;
};

// What is looked for and kept. Bounds are event numbers, ends included.
struct Look {
    uint64_t low = 0;
    uint64_t high = UINT64_MAX;
    uint64_t keep = 0;    // at most so many of those that hold
    bool newest = false;  // the last ones, not the first ones
    bool reason = false;  // one of those that are undecided, too
};

class Sieve {
  public:
    using Decide = std::function<Verdict(const Event& event, Entry& entry)>;

    // Of the chunks as they are now. `depth`: only events at this one; `with_entries`: rows of EXITs have their entry.
    Sieve(const Segment& segment, Filter filter, std::optional<uint32_t> depth, bool with_entries, Decide decide);

    // Numbers at which windows begin that take about the same time each, ascending; the first is 0.
    std::vector<uint64_t> windows() const;
    Window look(const Look& asked);
    std::optional<uint64_t> parent_of(uint64_t number) { return enters_.parent_of(number); }

  private:
    class Keeper;
    void look_at(const ChunkView& view, const Filter& filter, ChunkSummary& chunk, Keeper& keeper);
    bool look(const Filter& filter, bool in_place, Keeper& keeper);

    const Segment& segment_;
    const Filter filter_;
    const std::optional<uint32_t> depth_;
    const bool with_entries_;
    const Decide decide_;
    std::vector<ChunkSummary> chunks_;  // last_ticks becomes known
    Enters enters_;
};

}  // namespace strobe
