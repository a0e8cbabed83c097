// Which functions give back what a caller reads, as their direct calls in x86-64 code show: LLVM has a function that
// nobody else can call give back nothing where no caller uses its result, and debug information does not say so.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace strobe::symbols {

// Registers of a result.
inline constexpr uint8_t kUsesRax = 1;
inline constexpr uint8_t kUsesRdx = 2;
inline constexpr uint8_t kUsesXmm0 = 4;
inline constexpr uint8_t kUsesXmm1 = 8;

// Adds to `uses`, by function, the registers that one of the first instructions behind some direct call of it reads,
// before anything else is written there: a call leaves nothing else in them. `code` is a stretch of code that is loaded
// at `address`; `entries`, ascending, where the functions begin. Each is gone through from its first instruction to the
// next one's, so that no bytes within an instruction look like a call, and what follows a call that does not return is
// not taken for what its caller does. Code that cannot be decoded shows nothing.
void add_result_uses(uint64_t address, std::span<const uint8_t> code, std::span<const uint64_t> entries,
                     std::span<uint8_t> uses);

}  // namespace strobe::symbols
