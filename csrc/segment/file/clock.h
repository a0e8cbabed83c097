// The clock of segments: the time stamp counter where the CPU says it is invariant, else CLOCK_MONOTONIC.
#pragma once

#include <cstdint>

namespace strobe {

// STROBE_CLOCK_TSC or STROBE_CLOCK_MONOTONIC: the better one that this machine has.
uint32_t clock_kind();

// The clock of that kind now, in its own ticks.
uint64_t clock_ticks(uint32_t kind);

// Both clocks at one moment.
struct ClockPair {
    uint64_t ticks;
    uint64_t monotonic_ns;
};

// Reads both clocks, the ticks before and after; the tightest of several tries.
ClockPair read_clock_pair(uint32_t kind);

// Nanoseconds per tick of clock_kind(), measured from the time this library was loaded until now. Waits until that is
// 20 ms at least, so that the two readings' uncertainty (about 50 ns) stays below a few millionths.
double calibrate_ns_per_tick();

}  // namespace strobe
