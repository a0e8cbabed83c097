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
inline constexpr uint8_t kIsCalled = 16;  // by a direct call, whatever that uses

// A stretch of code that is loaded at `address`. `has_traps`: behind each call that the compiler knows not to come back
// from it puts a trap.
struct CallersCode {
    uint64_t address;
    std::span<const uint8_t> bytes;
    bool has_traps;
};

// Adds to `uses`, by function, the registers that one of the first instructions behind some direct call of it reads,
// before anything else is written there: a call leaves nothing else in them. `entries`, ascending, where the functions
// begin. Each is gone through from its first instruction to the next one's, so that no bytes within an instruction look
// like a call, and what follows a call that does not return is not taken for what its caller does. In code without
// traps that may be any block of the same function, so there a call shows nothing where something jumps to what follows
// it, or its function jumps to where a register or memory says. Code that cannot be decoded shows nothing.
void add_result_uses(const CallersCode& code, std::span<const uint64_t> entries, std::span<uint8_t> uses);

}  // namespace strobe::symbols
