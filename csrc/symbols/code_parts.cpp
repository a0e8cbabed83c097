#include "symbols/code_parts.h"

#include <algorithm>

namespace strobe::symbols {

std::vector<CodePart> code_parts(const dwarf::Index& index) {
    std::vector<CodePart> parts;
    parts.reserve(index.ranges.size());
    for (const dwarf::FunctionRow& row : index.functions) {
        for (uint32_t number = 0; number < row.range_count; ++number) {
            const auto& [start, end] = index.ranges[row.first_range + number];
            parts.push_back({start, end, row.address});
        }
    }
    const auto before = [](const CodePart& left, const CodePart& right) { return left.start < right.start; };
    const auto same = [](const CodePart& left, const CodePart& right) { return left.start == right.start; };
    std::stable_sort(parts.begin(), parts.end(), before);
    parts.erase(std::unique(parts.begin(), parts.end(), same), parts.end());
    return parts;
}

}  // namespace strobe::symbols
