// Histograms of durations as the recorder keeps them (strobe_totals.histogram).
#pragma once

#include <bit>
#include <cstdint>

#include "abi/strobe_abi.h"

namespace strobe {

// The bucket that a duration falls into: its octave, and the two bits below its leading one. The same rule as in
// csrc/recorder/totals.c, which has to do without a library.
inline uint32_t histogram_bucket(uint64_t ticks) {
    if (ticks < 1u << STROBE_HISTOGRAM_FIRST_OCTAVE) return 0;
    const auto octave = static_cast<uint32_t>(std::bit_width(ticks) - 1);
    const uint32_t bucket =
        (octave - STROBE_HISTOGRAM_FIRST_OCTAVE) * 4 + (static_cast<uint32_t>(ticks >> (octave - 2)) & 3);
    return bucket < STROBE_HISTOGRAM_BUCKETS ? bucket : STROBE_HISTOGRAM_BUCKETS - 1;
}

// First duration of a bucket, in ticks; the end of a bucket is the beginning of the next.
inline double histogram_bucket_begin(uint32_t bucket) {
    if (bucket == 0) return 0;
    const uint32_t shift = STROBE_HISTOGRAM_FIRST_OCTAVE + bucket / 4 - 2;
    return static_cast<double>((4ull + bucket % 4) << shift);
}

}  // namespace strobe
