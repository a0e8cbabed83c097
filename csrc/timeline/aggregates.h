// Aggregate functions over what the tables give.
//   strobe_quantile(histogram, q, low_ns, high_ns, ns_per_tick)   a quantile of many histograms together, in ns
//   strobe_numbers(number)                                        numbers as a sorted blob of u64, for strobe_calls'
//   `hosts`
#pragma once

#include "sqlite.h"

namespace strobe::timeline {

int create_aggregates(sqlite3* database);

}  // namespace strobe::timeline
