// A segment file, mapped read-only: safe to read while the target writes, dies, or has left the file damaged, and while
// anybody cuts it short.
//
//   Segment segment("/dev/shm/strobe-…");
//   Merge events(segment, filter);               // merge.h: events of all threads by time
//   for (Event event; events.next(event);) …
//   uint64_t n = count(segment, filter);         // count.h: without a callback per row
//   for_each_totals(segment, [](const strobe_totals& t) { … });   // totals.h
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "abi/strobe_abi.h"
#include "mapping/file_map.h"

namespace strobe {

// The file is not a segment, of another version, or its header contradicts its size. (A file that cannot be opened or
// mapped is a std::system_error.)
class SegmentError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// One chunk as it was when the list was made: what is read by it ends there, so that all who read by one list see the
// same events. `sequence` shows whether it is still the same chunk when it is read.
struct ChunkSummary {
    uint32_t index;
    uint32_t thread_index;  // of its first records
    uint32_t lane;          // of all records
    uint32_t state;         // STROBE_CHUNK_*
    uint32_t record_count;  // ENTER and EXIT records
    uint32_t size;          // bytes in use, header included
    uint64_t sequence;
    uint64_t previous_sequence;  // of the chunk that the same hand filled before; 0: none
    uint64_t first_ticks;        // no record in it is older
    uint64_t last_ticks;         // no record in it is newer; UINT64_MAX while that is not known
};

// Bytes of one chunk, header included: either a private copy or a part of the map.
struct ChunkView {
    const uint8_t* bytes = nullptr;
    uint32_t size = 0;
    uint32_t function_capacity = 0;
    uint32_t number_shift = 0;

    const strobe_chunk& header() const { return *reinterpret_cast<const strobe_chunk*>(bytes); }
};

// A private copy's memory; one per chunk that is looked at at the same time.
struct ChunkBuffer {
    alignas(64) uint8_t bytes[STROBE_CHUNK_BYTES];
};

struct Thread {
    uint32_t index;
    uint32_t pid;
    uint32_t tid;
    uint64_t start_ticks;
    uint64_t end_ticks;  // 0: alive, or its end was not seen
    std::string name;
};

struct ExitState {
    uint32_t state;  // STROBE_EXIT_*
    int32_t code;
};

class Segment {
  public:
    explicit Segment(const std::string& path);
    ~Segment();
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;

    // What the host wrote when it made the file: validated, and a private copy, so that a target that writes over its
    // own segment cannot lead the reader astray.
    const strobe_header& header() const { return header_; }
    // The header as it is now, for the recorder's counters.
    strobe_header read_header() const;

    // Time, exact whatever the numbers. A timestamp is that of the beginning of an event's moment, so that it grows
    // with the event's number; the two inverses give the inclusive bounds on ticks of the events whose timestamp_ns is
    // at least, or at most, `ns`.
    int64_t to_ns(uint64_t ticks) const { return duration_ns(ticks >> header_.number_shift << header_.number_shift); }
    uint64_t ticks_from_ns(int64_t ns) const;
    uint64_t ticks_until_ns(int64_t ns) const;  // 0 for a negative `ns`
    // floor(ticks * ns_per_tick), and the least ticks of which it is at least `ns`.
    int64_t duration_ns(uint64_t ticks) const;
    uint64_t duration_from_ns(int64_t ns) const;
    // The upper part of an event's number, and of a number the first ticks of its moment.
    uint64_t moment(uint64_t ticks) const { return ticks >> header_.number_shift; }
    uint64_t ticks_of(uint64_t number) const;
    uint64_t now_ticks() const;  // since session start

    ExitState exit_state() const;
    std::vector<Thread> threads() const;

    // Chunks that were ever claimed.
    uint32_t used_chunks() const;
    // What can be read now, ordered by first_ticks. Chunks that are being taken over are left out.
    std::vector<ChunkSummary> chunks() const;
    // Copies the chunk; false where it was taken over since `summary` was made (its events are evicted), or is damaged.
    bool copy_chunk(const ChunkSummary& summary, ChunkBuffer& buffer, ChunkView& view) const;
    // The chunk in place, without a copy. Its content may be torn unless ring_is_unwrapped() is true afterwards.
    bool map_chunk(const ChunkSummary& summary, ChunkView& view) const;
    // No chunk was ever taken over: what chunks() listed is complete and does not go away.
    bool ring_is_unwrapped() const;
    // Remembers a full chunk's newest record, so that later scans by time can pass it over unread.
    void remember_last_ticks(const ChunkSummary& summary, uint64_t last_ticks) const;

    // What is left of a file that somebody has truncated, in words; empty while it is whole. What is gone reads as
    // zeros.
    std::string damage() const;

    // Reads from the file without touching the map: a never-written page then stays unallocated. Short at end of file.
    size_t read_at(uint64_t offset, void* destination, size_t size) const;

  private:
    struct Sealed {
        uint64_t sequence;
        uint64_t last_ticks;
    };

    void map_file();
    void validate();
    template <typename Field>
    Field live(Field strobe_header::* field) const;
    const uint8_t* chunk_bytes(uint32_t index) const;
    uint64_t sealed_last_ticks(uint32_t index, uint64_t sequence) const;

    int fd_ = -1;
    std::unique_ptr<const FileMap> file_;
    const uint8_t* map_ = nullptr;
    uint64_t map_bytes_ = 0;
    strobe_header header_{};
    uint32_t chunk_count_ = 0;  // that lie inside the file
    mutable std::mutex sealed_mutex_;
    mutable std::vector<Sealed> sealed_;
};

}  // namespace strobe
