// Writes segments without a target: for tests and benchmarks. Follows the ABI's protocol (claim, evict, publish) with
// real atomics, so that readers can be tested against threads that write and evict.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "abi/strobe_abi.h"

namespace strobe {

// Maps a file that create_segment made, for writing. One per file; threads share it.
class SegmentWriter {
  public:
    explicit SegmentWriter(const std::string& path);
    ~SegmentWriter();
    SegmentWriter(const SegmentWriter&) = delete;
    SegmentWriter& operator=(const SegmentWriter&) = delete;

    strobe_header& header() { return *reinterpret_cast<strobe_header*>(map_); }
    strobe_thread& thread(uint32_t index);
    strobe_function_plan& plan(uint32_t function);
    strobe_totals& totals(uint32_t entry);
    strobe_chunk& chunk(uint32_t index);

    uint32_t add_thread(uint32_t pid, uint32_t tid, const std::string& name, uint64_t start_ticks);
    uint32_t add_totals(uint32_t function, uint32_t thread_index);

  private:
    uint8_t* map_ = nullptr;
    uint64_t bytes_ = 0;
};

// One thread's pen. Ticks are the caller's; they must grow.
class ThreadWriter {
  public:
    ThreadWriter(SegmentWriter& segment, uint32_t thread_index, uint32_t tid);
    // False where no chunk could be claimed (counted in the header as lost).
    bool enter(uint64_t ticks, uint32_t function, uint16_t depth, std::span<const uint64_t> arguments,
               uint8_t flags = 0);
    bool exit(uint64_t ticks, uint32_t function, uint16_t depth, uint64_t duration_ticks, const uint64_t* return_word,
              uint8_t flags = 0);
    // Goes on in this chunk as another thread (a THREAD record).
    bool become(uint64_t ticks, uint32_t thread_index, uint32_t tid);
    // Gives the chunk back, full or not.
    void release();

  private:
    bool append(const strobe_record& record, std::span<const uint64_t> payload);
    bool claim();
    void take(strobe_chunk& chunk, uint64_t ticket);

    SegmentWriter& segment_;
    uint32_t thread_index_;
    uint32_t tid_;
    uint32_t lane_;
    strobe_chunk* chunk_ = nullptr;
    uint64_t last_ticks_ = 0;
    uint64_t last_sequence_ = 0;
    std::vector<uint64_t> open_ticks_;
};

// A synthetic program: `calls` calls (two events each), spread over `threads` threads and `functions` functions (ids
// 1 …), nested up to 8 deep, with two arguments and a return value, and totals that agree.
struct SyntheticProgram {
    uint64_t calls = 1000;
    uint32_t threads = 1;
    uint32_t functions = 10;
    uint64_t begin_ticks = 0;  // since session start
};
void write_synthetic(const std::string& path, const SyntheticProgram& program);

}  // namespace strobe
