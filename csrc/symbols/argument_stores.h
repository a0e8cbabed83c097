// Where functions put their arguments in the frame, as their first instructions show.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "symbols/instructions.h"

namespace strobe::symbols {

// `argument`: the register, as it was when the function began. `base`: kRsp or kRbp, as it is behind the prologue.
struct ArgumentStore {
    Registers argument;
    uint8_t base;
    int32_t offset;
};

// Of the function that begins with `code`: its stores to the frame up to its first branch or call.
std::vector<ArgumentStore> argument_stores(std::span<const uint8_t> code);

}  // namespace strobe::symbols
