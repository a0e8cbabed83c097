// Walks the records of one chunk and decodes them: the inner loop of every scan, so it lives in a header.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "segment/file/segment.h"
#include "segment/read/filter.h"

namespace strobe {

// A decoded ENTER or EXIT record. Plain and cheap to copy. `payload` points into the chunk that the event was read from
// (a private copy), and is valid as long as the cursor that gave it stays where it is.
struct Event {
    uint64_t ticks;           // since session start
    const uint64_t* payload;  // payload_words words
    uint32_t function;        // 1 .. function_capacity - 1
    uint32_t tid;
    uint16_t thread_index;
    uint16_t depth;
    uint8_t kind;   // STROBE_RECORD_ENTER or STROBE_RECORD_EXIT
    uint8_t flags;  // STROBE_FLAG_*
    uint16_t payload_words;
    uint16_t lane;
    uint8_t number_shift;

    uint64_t number() const { return STROBE_EVENT_NUMBER(ticks, lane, number_shift); }
    bool is_enter() const { return kind == STROBE_RECORD_ENTER; }

    // What was captured: of the arguments for an ENTER, of what is returned for an EXIT; then extras.
    std::span<const uint64_t> values() const {
        const size_t skipped = is_enter() || payload_words == 0 ? 0 : 1;
        return {payload + skipped, payload_words - skipped};
    }
    // Of an EXIT; the decoder lets no EXIT pass that has none.
    uint64_t duration_ticks() const { return is_enter() ? 0 : payload[0]; }
    std::optional<uint64_t> return_word() const {
        if (is_enter() || !(flags & STROBE_FLAG_HAS_RETURN) || payload_words < 2) return std::nullopt;
        return payload[1];
    }
};

// A stretch of a chunk that one thread wrote: a THREAD record begins a new one.
struct Piece {
    uint32_t begin;  // byte offsets in the chunk
    uint32_t end;
    uint32_t thread_index;
    uint32_t tid;
};

// Gives the matching ENTER and EXIT records in the order written. Every step is bounded by the view's size, whatever
// the bytes are: a record that reaches beyond it ends the walk, a record that makes no sense is passed over.
class RecordCursor {
  public:
    // All of the chunk, following THREAD records.
    RecordCursor(const ChunkView& view, const Filter& filter)
        : RecordCursor(view, filter, {sizeof(strobe_chunk), view.size, view.header().thread_index, view.header().tid}) {
    }

    RecordCursor(const ChunkView& view, const Filter& filter, const Piece& piece)
        : view_(view),
          filter_(&filter),
          offset_(piece.begin),
          end_(piece.end),
          lane_(view.header().lane % STROBE_LANES) {
        follow_thread(piece.thread_index, piece.tid);
    }

    // The next match; false at the end.
    bool next(Event& event) {
        strobe_record record;
        while (read(record)) {
            if (accept(record, event)) return true;
        }
        return false;
    }

    // Byte offset in the chunk just behind the last record that was given.
    uint32_t offset() const { return offset_; }
    // Ticks of the last record walked over, matching or not.
    uint64_t last_ticks() const { return last_ticks_; }
    const ChunkView& view() const { return view_; }

  private:
    bool read(strobe_record& record) {
        if (end_ - offset_ < sizeof record) return false;
        std::memcpy(&record, view_.bytes + offset_, sizeof record);
        const uint32_t size = sizeof record + 8u * STROBE_RECORD_WORDS(record);
        if (end_ - offset_ < size) {
            offset_ = end_;
            return false;
        }
        offset_ += size;
        return true;
    }

    const uint64_t* payload(const strobe_record& record) const {
        return reinterpret_cast<const uint64_t*>(view_.bytes + offset_ - 8u * STROBE_RECORD_WORDS(record));
    }

    bool accept(const strobe_record& record, Event& event) {
        const uint8_t kind = STROBE_RECORD_KIND(record);
        const auto words = static_cast<uint16_t>(STROBE_RECORD_WORDS(record));
        if (kind == STROBE_RECORD_THREAD) {
            if (words >= 2) {
                follow_thread(static_cast<uint32_t>(payload(record)[0]), static_cast<uint32_t>(payload(record)[1]));
            }
            return false;
        }
        last_ticks_ = record.ticks;
        if (!(kinds_ >> kind & 1) || record.ticks < from_ || record.ticks > to_) return false;
        if (filter_->functions && !filter_->functions->contains(record.function)) return false;
        if (record.function == 0 || record.function >= view_.function_capacity) return false;
        if (kind == STROBE_RECORD_EXIT && words == 0) return false;
        if (filter_->min_duration_ticks && payload(record)[0] < filter_->min_duration_ticks) return false;
        const Event found{record.ticks,
                          payload(record),
                          record.function,
                          tid_,
                          static_cast<uint16_t>(thread_index_),
                          record.depth,
                          kind,
                          static_cast<uint8_t>(record.kind_flags >> 4),
                          words,
                          static_cast<uint16_t>(lane_),
                          static_cast<uint8_t>(view_.number_shift)};
        if (filter_->returns && !filter_->returns->passes(found.function, found.return_word())) return false;
        if (filter_->spans && !is_within(found.number())) return false;
        event = found;
        return true;
    }

    // Records of a thread come by number.
    bool is_within(uint64_t number) {
        if (!spans_.empty() && spans_.front().to < number) {
            const auto next = std::partition_point(spans_.begin(), spans_.end(),
                                                   [number](const Spans::Row& row) { return row.to < number; });
            spans_ = spans_.subspan(static_cast<size_t>(next - spans_.begin()));
        }
        return !spans_.empty() && spans_.front().from <= number;
    }

    void follow_thread(uint32_t thread_index, uint32_t tid) {
        const bool known = thread_index < STROBE_THREAD_CAPACITY;
        const bool wanted = known && (!filter_->threads || filter_->threads->test(thread_index)) &&
                            (!filter_->tid || *filter_->tid == tid);
        thread_index_ = thread_index;
        tid_ = tid;
        from_ = filter_->first_ticks(lane_, view_.number_shift);
        to_ = filter_->last_ticks(lane_, view_.number_shift);
        kinds_ = wanted ? filter_->kinds & (kind_bit(STROBE_RECORD_ENTER) | kind_bit(STROBE_RECORD_EXIT)) : 0u;
        if (filter_->min_duration_ticks) kinds_ &= kind_bit(STROBE_RECORD_EXIT);
        if (filter_->spans) spans_ = filter_->spans->of(Spans::thread_of(thread_index, tid));
        if (filter_->spans && spans_.empty()) kinds_ = 0;
    }

    ChunkView view_;
    const Filter* filter_;
    uint32_t offset_;
    uint32_t end_;
    uint32_t lane_;
    uint32_t thread_index_ = 0;
    uint32_t tid_ = 0;
    uint32_t kinds_ = 0;
    std::span<const Spans::Row> spans_;  // of this thread, from the first one on that may still hold records
    uint64_t from_ = 0;
    uint64_t to_ = 0;
    uint64_t last_ticks_ = 0;
};

}  // namespace strobe
