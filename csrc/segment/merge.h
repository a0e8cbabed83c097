// Events of all threads in the order of time: a k-way merge over the chunks that overlap at each moment.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cursor.h"

namespace strobe {

// A snapshot is taken chunk by chunk, when the merge reaches it: a chunk that was evicted by then is left out.
// The segment and the filter must outlive the merge.
class Merge {
  public:
    Merge(const Segment& segment, const Filter& filter);

    // The next event by (ticks, thread index). Its payload stays valid until the next call.
    bool next(Event& event);

    // Passes over up to `count` matching events; returns how many there were. Much faster than next().
    uint64_t skip(uint64_t count);

    // Event number of the parent of the event that next() gave last; see parent.h. Reads that event's chunk again
    // (microseconds), so ask only for rows that are shown.
    std::optional<uint64_t> parent_number() const;

  private:
    struct Stream {
        RecordCursor cursor;
        Event head;
        std::shared_ptr<const ChunkBuffer> buffer;
    };

    bool settle();
    void open_due_chunks();
    void open_chunk(const ChunkSummary& summary);
    void advance_front();
    void push(Stream stream);
    void sift_down();
    uint64_t rival_ticks() const;

    const Segment& segment_;
    const Filter& filter_;
    std::vector<ChunkSummary> waiting_;  // by first_ticks; from next_waiting_ on not yet opened
    size_t next_waiting_ = 0;
    std::vector<std::unique_ptr<Stream>> heap_;  // the smallest head in front
    bool front_is_spent_ = false;                // the front's head was handed out
    std::optional<Event> current_;
};

}  // namespace strobe
