#include "segment/read/merge.h"

#include <algorithm>
#include <utility>

#include "segment/read/parent.h"

namespace strobe {
namespace {

struct Later {
    template <typename StreamPointer>
    bool operator()(const StreamPointer& a, const StreamPointer& b) const {
        return a->head.number() > b->head.number();
    }
};

// Where in the chunk which thread wrote, and the ticks of the newest record.
std::vector<Piece> split(const ChunkView& view, uint64_t& last_ticks) {
    std::vector<Piece> pieces{{sizeof(strobe_chunk), view.size, view.header().thread_index, view.header().tid}};
    uint32_t offset = sizeof(strobe_chunk);
    while (view.size - offset >= sizeof(strobe_record)) {
        strobe_record record;
        std::memcpy(&record, view.bytes + offset, sizeof record);
        const uint32_t size = sizeof record + 8u * STROBE_RECORD_WORDS(record);
        if (view.size - offset < size) break;
        if (STROBE_RECORD_KIND(record) == STROBE_RECORD_THREAD && STROBE_RECORD_WORDS(record) >= 2) {
            uint64_t thread[2];
            std::memcpy(thread, view.bytes + offset + sizeof record, sizeof thread);
            pieces.back().end = offset;
            pieces.push_back(
                {offset + size, view.size, static_cast<uint32_t>(thread[0]), static_cast<uint32_t>(thread[1])});
        }
        last_ticks = std::max(last_ticks, record.ticks);
        offset += size;
    }
    return pieces;
}

std::vector<ChunkSummary> chunks_in_reach(std::vector<ChunkSummary> chunks, const Filter& filter, uint32_t shift) {
    const uint64_t earliest = filter.earliest_ticks(shift);
    const uint64_t latest = filter.latest_ticks(shift);
    std::erase_if(chunks, [&](const ChunkSummary& chunk) {
        return chunk.record_count == 0 || chunk.first_ticks > latest || chunk.last_ticks < earliest;
    });
    return chunks;
}

}  // namespace

Merge::Merge(const Segment& segment, Filter filter) : Merge(segment, std::move(filter), segment.chunks()) {}

Merge::Merge(const Segment& segment, Filter filter, std::vector<ChunkSummary> chunks)
    : segment_(segment),
      filter_(std::move(filter)),
      waiting_(chunks_in_reach(std::move(chunks), filter_, segment.header().number_shift)) {}

bool Merge::next(Event& event) {
    if (!settle()) return false;
    event = heap_.front()->head;
    front_is_spent_ = true;
    return true;
}

uint64_t Merge::skip(uint64_t count) {
    uint64_t skipped = 0;
    while (skipped < count && settle()) {
        const uint64_t rival = rival_number();
        Stream& front = *heap_.front();
        bool has_head = true;
        do {
            ++skipped;
            has_head = front.cursor.next(front.head);
        } while (has_head && skipped < count && front.head.number() < rival);
        replace_front(has_head);
    }
    return skipped;
}

std::optional<uint64_t> Merge::parent_number() const {
    if (!front_is_spent_) return std::nullopt;
    const Stream& front = *heap_.front();
    return find_parent(front.cursor.view(), front.head, front.cursor.offset());
}

// Makes the front of the heap the next event to hand out: drops the one that was, and opens every chunk that could hold
// an earlier one. False when there is none left.
bool Merge::settle() {
    if (front_is_spent_) {
        front_is_spent_ = false;
        replace_front(heap_.front()->cursor.next(heap_.front()->head));
    }
    while (next_waiting_ < waiting_.size() &&
           (heap_.empty() || least_number(waiting_[next_waiting_]) <= heap_.front()->head.number())) {
        open_chunk(waiting_[next_waiting_++]);
    }
    return !heap_.empty();
}

void Merge::open_chunk(const ChunkSummary& summary) {
    const auto buffer = std::make_shared_for_overwrite<ChunkBuffer>();
    ChunkView view;
    if (!segment_.copy_chunk(summary, *buffer, view)) return;
    uint64_t last_ticks = 0;
    const std::vector<Piece> pieces = split(view, last_ticks);
    segment_.remember_last_ticks(summary, last_ticks);
    for (const Piece& piece : pieces) {
        auto stream = std::make_unique<Stream>(Stream{RecordCursor(view, filter_, piece), Event{}, buffer});
        if (stream->cursor.next(stream->head)) push(std::move(stream));
    }
}

void Merge::push(std::unique_ptr<Stream> stream) {
    heap_.push_back(std::move(stream));
    std::push_heap(heap_.begin(), heap_.end(), Later{});
}

// The front has a new head, or none any more. Usually it stays in front or moves a step, so it is sifted down in place.
void Merge::replace_front(bool has_head) {
    if (!has_head) {
        std::swap(heap_.front(), heap_.back());
        heap_.pop_back();
    }
    for (size_t parent = 0, child = 1; child < heap_.size(); parent = child, child = 2 * parent + 1) {
        if (child + 1 < heap_.size() && Later{}(heap_[child], heap_[child + 1])) ++child;
        if (!Later{}(heap_[parent], heap_[child])) break;
        std::swap(heap_[parent], heap_[child]);
    }
}

uint64_t Merge::least_number(const ChunkSummary& chunk) const {
    return STROBE_EVENT_NUMBER(chunk.first_ticks, 0, segment_.header().number_shift);
}

// No event outside the front stream has a lower number.
uint64_t Merge::rival_number() const {
    uint64_t rival = next_waiting_ < waiting_.size() ? least_number(waiting_[next_waiting_]) : UINT64_MAX;
    for (size_t child = 1; child <= 2 && child < heap_.size(); ++child) {
        rival = std::min(rival, heap_[child]->head.number());
    }
    return rival;
}

}  // namespace strobe
