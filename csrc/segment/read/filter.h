// Which events a scan is asked for. Everything here is evaluated inside the scan, before an event is handed out.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "abi/strobe_abi.h"

namespace strobe {

// A set of function ids, one bit each.
class FunctionSet {
  public:
    FunctionSet() = default;
    explicit FunctionSet(std::span<const uint32_t> ids);
    void insert(uint32_t id);
    bool contains(uint32_t id) const {
        const size_t word = id / 64;
        return word < words_.size() && (words_[word] >> (id % 64) & 1);
    }

  private:
    std::vector<uint64_t> words_;
};

// What the EXITs of some functions have to return. Those of functions that are not listed do not pass.
class ReturnTests {
  public:
    struct Row {
        uint64_t function;
        uint64_t mask;  // bits of the return word that the function's type has; 0: not listed
        uint64_t value;
        uint64_t equal;  // 1: the bits must equal the value, 0: they must not
    };
    ReturnTests() = default;
    explicit ReturnTests(std::span<const Row> rows);
    // `word`: what an EXIT of the function has; none where nothing was captured.
    bool passes(uint32_t function, std::optional<uint64_t> word) const {
        if (function >= rows_.size()) return false;
        const Row& row = rows_[function];
        return row.mask != 0 && word && ((*word & row.mask) == row.value) == (row.equal != 0);
    }

  private:
    std::vector<Row> rows_;  // by function id
};

// Stretches of what some threads did: event numbers, ends included.
class Spans {
  public:
    struct Row {
        uint64_t thread;  // thread_of
        uint64_t from;
        uint64_t to;
    };
    static uint64_t thread_of(uint32_t index, uint32_t tid) { return uint64_t{index} << 32 | tid; }

    Spans() = default;
    // In any order, and they may overlap.
    explicit Spans(std::vector<Row> rows);
    // By thread and number; none overlaps another of its thread.
    const std::vector<Row>& rows() const { return rows_; }
    std::span<const Row> of(uint64_t thread) const;

  private:
    std::vector<Row> rows_;
};

using ThreadSet = std::bitset<STROBE_THREAD_CAPACITY>;

constexpr uint8_t kind_bit(uint8_t kind) { return static_cast<uint8_t>(1u << kind); }

// An event passes when it meets all of them. The bounds are inclusive. Times come from Segment::ticks_from_ns and
// Segment::ticks_until_ns, numbers are event numbers (STROBE_EVENT_NUMBER).
struct Filter {
    uint64_t from_ticks = 0;
    uint64_t to_ticks = UINT64_MAX;
    uint64_t from_number = 0;
    uint64_t to_number = UINT64_MAX;
    uint8_t kinds = kind_bit(STROBE_RECORD_ENTER) | kind_bit(STROBE_RECORD_EXIT);
    uint64_t min_duration_ticks = 0;  // above 0 only EXITs pass
    std::optional<FunctionSet> functions;
    std::optional<ThreadSet> threads;  // by thread index
    std::optional<uint32_t> tid;       // also tells apart the threads that share STROBE_THREAD_INDEX_SHARED
    std::optional<ReturnTests> returns;
    std::shared_ptr<const Spans> spans;  // copies of a filter share it

    // The bounds on time and number together, as bounds on the ticks of one lane's events.
    uint64_t first_ticks(uint32_t lane, uint32_t number_shift) const;
    uint64_t last_ticks(uint32_t lane, uint32_t number_shift) const;
    // Bounds that hold for every lane: what lies outside needs no reading.
    uint64_t earliest_ticks(uint32_t number_shift) const { return first_ticks(UINT32_MAX, number_shift); }
    uint64_t latest_ticks(uint32_t number_shift) const { return last_ticks(0, number_shift); }
    // Nothing is asked for but "all calls": a count is then the sum of the chunks' own counts.
    bool is_everything() const;
};

}  // namespace strobe
