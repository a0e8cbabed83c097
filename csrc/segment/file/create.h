// Makes the file that a session records into.
#pragma once

#include <cstdint>
#include <string>

namespace strobe {

constexpr uint32_t kFunctionCapacity = 262144;
constexpr uint32_t kTotalsCapacity = 1048576;

// Chunks that hold `max_events` events of 32 bytes and still leave every busy thread one to write into; at least 16.
uint32_t chunk_count_for(uint64_t max_events);

// A new file, mode 0600, with its header filled in; session start is now. Totals and chunks are sparse, except on a
// kernel before 5.14, where a full file system can only be met safely by allocating everything at once. Throws
// std::system_error, EEXIST where there is one already.
void create_segment(const std::string& path, uint64_t max_events);

}  // namespace strobe
