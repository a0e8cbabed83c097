#include "segment/read/count.h"

#include <array>
#include <numeric>

#include "segment/read/scan.h"

namespace strobe {
namespace {

using KindCounts = std::array<uint64_t, 2>;  // enters, exits

uint64_t count_everything(const Segment& segment) {
    const std::vector<ChunkSummary> chunks = segment.chunks();
    return std::accumulate(chunks.begin(), chunks.end(), uint64_t{0},
                           [](uint64_t sum, const ChunkSummary& chunk) { return sum + chunk.record_count; });
}

}  // namespace

uint64_t count(const Segment& segment, const Filter& filter) {
    if (filter.is_everything()) return count_everything(segment);
    uint64_t total = 0;
    scan(segment, filter, [&](const Event&) { ++total; }, [&] { total = 0; });
    return total;
}

std::vector<FunctionCount> count_by_function(const Segment& segment, const Filter& filter) {
    std::vector<KindCounts> counts(segment.header().function_capacity);
    scan(
        segment, filter, [&](const Event& event) { ++counts[event.function][event.is_enter() ? 0 : 1]; },
        [&] { counts.assign(counts.size(), {}); });
    std::vector<FunctionCount> found;
    for (uint32_t function = 0; function < counts.size(); ++function) {
        const auto [enters, exits] = counts[function];
        if (enters + exits > 0) found.push_back({function, enters, exits});
    }
    return found;
}

}  // namespace strobe
