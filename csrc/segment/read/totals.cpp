#include "segment/read/totals.h"

#include <algorithm>
#include <vector>

namespace strobe {
namespace {
constexpr uint32_t kBlockEntries = 512;
}

void for_each_totals(const Segment& segment, const std::function<void(const strobe_totals&)>& visit) {
    const strobe_header& header = segment.header();
    const uint32_t used = std::min(segment.read_header().totals_used, header.totals_capacity);
    std::vector<strobe_totals> block(kBlockEntries);
    for (uint32_t first = 1; first < used; first += kBlockEntries) {
        const uint32_t wanted = std::min(kBlockEntries, used - first);
        const uint64_t offset = header.totals_offset + uint64_t{first} * sizeof(strobe_totals);
        const size_t got = segment.read_at(offset, block.data(), wanted * sizeof(strobe_totals));
        for (size_t entry = 0; entry < got / sizeof(strobe_totals); ++entry) {
            const strobe_totals& totals = block[entry];
            const bool valid = totals.function != 0 && totals.function < header.function_capacity &&
                               totals.thread_index < STROBE_THREAD_CAPACITY;
            if (valid) visit(totals);
        }
        if (got < wanted * sizeof(strobe_totals)) return;  // the file was cut off here
    }
}

}  // namespace strobe
