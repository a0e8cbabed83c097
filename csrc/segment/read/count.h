// Counting without a callback per event.
#pragma once

#include <cstdint>
#include <vector>

#include "segment/file/segment.h"
#include "segment/read/filter.h"

namespace strobe {

struct FunctionCount {
    uint32_t function;
    uint64_t enters;
    uint64_t exits;
};

// How many events pass.
uint64_t count(const Segment& segment, const Filter& filter);

// The same by function, ascending by id, without those that have none.
std::vector<FunctionCount> count_by_function(const Segment& segment, const Filter& filter);

}  // namespace strobe
