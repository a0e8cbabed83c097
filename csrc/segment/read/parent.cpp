#include "segment/read/parent.h"

#include <algorithm>
#include <vector>

namespace strobe {
namespace {

constexpr uint64_t kUnrecorded = 0;        // a frame whose ENTER was left out by sampling
constexpr uint64_t kUnknown = UINT64_MAX;  // a frame whose ENTER lies before this chunk, and where is not known

// The enter ticks of the frames that are open at one place in a chunk, outermost first.
class OpenFrames {
  public:
    explicit OpenFrames(const strobe_chunk& chunk) {
        const uint32_t remembered = std::min(chunk.open_count, STROBE_OPEN_FRAMES);
        enter_ticks_.assign(chunk.open_ticks, chunk.open_ticks + remembered);
        enter_ticks_.resize(std::min(chunk.open_count, 0xffffu), kUnknown);
    }

    void apply(const strobe_record& record) {
        const uint8_t kind = STROBE_RECORD_KIND(record);
        if (kind == STROBE_RECORD_THREAD) {
            enter_ticks_.clear();
            gap_ = kUnknown;
            return;
        }
        if (record.depth < enter_ticks_.size()) enter_ticks_.resize(record.depth);
        const bool stays_open = kind == STROBE_RECORD_ENTER && !(record.kind_flags >> 4 & STROBE_FLAG_NO_EXIT);
        if (!stays_open) return;
        enter_ticks_.resize(record.depth, gap_);
        enter_ticks_.push_back(record.ticks);
        gap_ = kUnrecorded;
    }

    // The innermost recorded frame of the outer `depth` ones.
    std::optional<uint64_t> innermost(uint32_t depth) const {
        for (uint32_t level = depth; level-- > 0;) {
            const uint64_t ticks = level < enter_ticks_.size() ? enter_ticks_[level] : gap_;
            if (ticks == kUnknown) return std::nullopt;
            if (ticks != kUnrecorded) return ticks;
        }
        return std::nullopt;
    }

  private:
    std::vector<uint64_t> enter_ticks_;
    uint64_t gap_ = kUnrecorded;
};

std::optional<uint64_t> find_caller(const ChunkView& view, const Event& event, uint32_t end_offset) {
    OpenFrames frames(view.header());
    const uint32_t event_bytes = sizeof(strobe_record) + 8u * event.payload_words;
    const uint32_t event_offset = end_offset - event_bytes;
    for (uint32_t offset = sizeof(strobe_chunk); offset + sizeof(strobe_record) <= event_offset;) {
        strobe_record record;
        std::memcpy(&record, view.bytes + offset, sizeof record);
        frames.apply(record);
        offset += sizeof record + 8u * STROBE_RECORD_WORDS(record);
    }
    return frames.innermost(event.depth);
}

std::optional<uint64_t> find_own_enter(const Event& event) {
    if (event.flags & STROBE_FLAG_LATE) return event.ticks - (uint64_t{1} << event.number_shift);
    if (event.duration_ticks() >= event.ticks) return std::nullopt;
    return event.ticks - event.duration_ticks();
}

}  // namespace

std::optional<uint64_t> find_parent(const ChunkView& view, const Event& event, uint32_t end_offset) {
    const auto ticks = event.is_enter() ? find_caller(view, event, end_offset) : find_own_enter(event);
    if (!ticks) return std::nullopt;
    return STROBE_EVENT_NUMBER(*ticks, event.lane, event.number_shift);
}

}  // namespace strobe
