#include "quantile.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "segment/read/histogram.h"

namespace strobe::timeline {

double quantile(const Histogram& histogram, double q, double low, double high) {
    const uint64_t total = std::accumulate(histogram.begin(), histogram.end(), uint64_t{0});
    if (total == 0) return 0;
    const double rank = std::clamp(std::ceil(q * static_cast<double>(total)), 1.0, static_cast<double>(total));
    double before = 0;
    uint32_t bucket = 0;
    while (before + static_cast<double>(histogram[bucket]) < rank) before += static_cast<double>(histogram[bucket++]);
    // The bucket's durations are taken to lie evenly in it, each in the middle of its share.
    const double share = (rank - before - 0.5) / static_cast<double>(histogram[bucket]);
    const double begin = std::max(histogram_bucket_begin(bucket), low);
    const double end = std::min(histogram_bucket_begin(bucket + 1), high);
    return std::clamp(begin + share * (end - begin), low, std::max(low, high));
}

}  // namespace strobe::timeline
