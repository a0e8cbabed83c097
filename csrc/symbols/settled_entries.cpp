#include "symbols/settled_entries.h"

#include <algorithm>
#include <unordered_set>

#include "names/raw_name.h"

namespace strobe::symbols {

void settle_entries(dwarf::Index& index, const std::vector<TableFunction>& symbols) {
    const auto is_split = [](const dwarf::FunctionRow& row) { return row.range_count > 1; };
    if (std::none_of(index.functions.begin(), index.functions.end(), is_split)) return;
    std::unordered_set<uint64_t> called;
    for (const TableFunction& symbol : symbols) {
        if (!names::is_cold(symbol.name)) called.insert(symbol.address);
    }
    for (dwarf::FunctionRow& row : index.functions) {
        if (!is_split(row) || called.contains(row.address)) continue;
        for (uint32_t number = 0; number < row.range_count; ++number) {
            const auto& [start, end] = index.ranges[row.first_range + number];
            if (!called.contains(start)) continue;
            row.address = start;
            row.size = end - start;
            break;
        }
    }
}

}  // namespace strobe::symbols
