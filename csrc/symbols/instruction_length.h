// Where x86-64 instructions begin, in code of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace strobe::symbols {

// Bytes of the instruction that `code` begins with; 0 where it is none that is known, or cut.
size_t instruction_length(std::span<const uint8_t> code);

}  // namespace strobe::symbols
