// Which function an address belongs to, whatever part of it that is.
#pragma once

#include <vector>

#include "dwarf/index.h"

namespace strobe::symbols {

// A function may have a hot and a cold part. `entry`: where it begins.
struct CodePart {
    uint64_t start, end, entry;
};

// Of all functions, by start; of several with one start, the first.
std::vector<CodePart> code_parts(const dwarf::Index& index);

}  // namespace strobe::symbols
