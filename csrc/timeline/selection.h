// What a statement asks of a segment: SQL constraints become a Filter that the scan evaluates itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "segment/file/segment.h"
#include "segment/read/filter.h"
#include "sqlite.h"

namespace strobe::timeline {

class State;

// What a column means to the scan. From kPath on they are parameters: hidden columns that take one value by `=`.
enum class Role : uint8_t {
    kNone,
    kNumber,
    kTimestamp,
    kKind,
    kFunction,
    kThreadIndex,
    kTid,
    kDuration,
    kPath,
    kFunctions,
    kThreads,
    kReturns,
    kHosts,
    kSkip,
};

struct Selection {
    std::shared_ptr<const Segment> segment;
    Filter filter;
    bool nothing = false;         // the constraints contradict each other
    std::vector<uint64_t> hosts;  // numbers of the host's events to merge in, ascending
    uint64_t skip = 0;            // leave out so many of the merged events
    std::string key;              // equal for equal selections of calls; empty where that is not known
};

// xBestIndex of every table here. `roles` has one entry per column. What the scan evaluates it evaluates
// exactly, so SQLite does not check the rows again. Returns false where a parameter's value is not available in this
// join order. Throws std::runtime_error for a comparison that nobody could evaluate, as the column has no values.
bool plan_selection(sqlite3_index_info* info, std::span<const Role> roles, int first_column_without_values);

// xFilter's half: opens the segment and fills in the filter. Throws std::runtime_error on values that make no sense.
Selection read_selection(State& state, const char* plan, sqlite3_value** values);

}  // namespace strobe::timeline
