// Events of all threads in the order of time: a k-way merge over the chunks that overlap at each moment.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "segment/read/cursor.h"

namespace strobe {

// A snapshot is taken chunk by chunk, when the merge reaches it: a chunk that was evicted by then is left out.
// The segment must outlive the merge.
class Merge {
  public:
    Merge(const Segment& segment, Filter filter);
    // Looks at these chunks only (of Segment::chunks(), in its order): those that are known to hold matches.
    Merge(const Segment& segment, Filter filter, std::vector<ChunkSummary> chunks);
    Merge(const Merge&) = delete;
    Merge& operator=(const Merge&) = delete;

    // The next event by number. Its payload stays valid until the next call.
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
    void open_chunk(const ChunkSummary& summary);
    void push(std::unique_ptr<Stream> stream);
    void replace_front(bool has_head);
    uint64_t least_number(const ChunkSummary& chunk) const;
    uint64_t rival_number() const;

    const Segment& segment_;
    const Filter filter_;
    std::vector<ChunkSummary> waiting_;  // by first_ticks; from next_waiting_ on not yet opened
    size_t next_waiting_ = 0;
    std::vector<std::unique_ptr<Stream>> heap_;  // the smallest head in front
    bool front_is_spent_ = false;                // the front's head was handed out
};

}  // namespace strobe
