// Quantiles of durations from histograms.
#pragma once

#include <array>
#include <cstdint>

#include "../abi/strobe_abi.h"

namespace strobe::timeline {

// Counts per bucket, of one function or of many added up.
using Histogram = std::array<uint64_t, STROBE_HISTOGRAM_BUCKETS>;

// The duration in ticks below which a share `q` (0 to 1) of all lie, interpolated inside its bucket and never outside
// `low` and `high`, the exact smallest and greatest. 0 where there are none.
double quantile(const Histogram& histogram, double q, double low, double high);

}  // namespace strobe::timeline
