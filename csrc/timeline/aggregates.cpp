#include "aggregates.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "quantile.h"

namespace strobe::timeline {
namespace {

// SQLite gives an aggregate zeroed memory and moves it nowhere, but runs no constructor: a pointer is what fits.
template <class State>
State** state_slot(sqlite3_context* context, bool create) {
    auto** slot = static_cast<State**>(sqlite3_aggregate_context(context, create ? sizeof(State*) : 0));
    if (slot && !*slot && create) *slot = new (std::nothrow) State();
    return slot;
}

struct QuantileState {
    Histogram histogram{};
    double q = 0;
    int64_t low_ns = std::numeric_limits<int64_t>::max();
    int64_t high_ns = 0;
    double ns_per_tick = 1;
};

void quantile_step(sqlite3_context* context, int, sqlite3_value** values) {
    QuantileState** slot = state_slot<QuantileState>(context, true);
    if (!slot || !*slot) return sqlite3_result_error_nomem(context);
    uint32_t counts[STROBE_HISTOGRAM_BUCKETS];
    if (sqlite3_value_type(values[2]) == SQLITE_NULL) return;  // no call has ended
    if (sqlite3_value_bytes(values[0]) != sizeof counts) {
        return sqlite3_result_error(context, "strobe_quantile takes the histogram column of strobe_totals", -1);
    }
    std::memcpy(counts, sqlite3_value_blob(values[0]), sizeof counts);
    QuantileState& state = **slot;
    for (size_t i = 0; i < state.histogram.size(); ++i) state.histogram[i] += counts[i];
    state.q = sqlite3_value_double(values[1]);
    state.low_ns = std::min<int64_t>(state.low_ns, sqlite3_value_int64(values[2]));
    state.high_ns = std::max<int64_t>(state.high_ns, sqlite3_value_int64(values[3]));
    state.ns_per_tick = sqlite3_value_double(values[4]);
}

void quantile_final(sqlite3_context* context) {
    QuantileState** slot = state_slot<QuantileState>(context, false);
    if (!slot || !*slot) return;
    const QuantileState& state = **slot;
    if (state.low_ns <= state.high_ns) {
        const double ticks = quantile(state.histogram, state.q, static_cast<double>(state.low_ns) / state.ns_per_tick,
                                      static_cast<double>(state.high_ns) / state.ns_per_tick);
        const double ns = std::min(ticks * state.ns_per_tick + 0.5, 9.2e18);
        sqlite3_result_int64(context, std::clamp(static_cast<int64_t>(ns), state.low_ns, state.high_ns));
    }
    delete *slot;
}

using Numbers = std::vector<uint64_t>;

void numbers_step(sqlite3_context* context, int, sqlite3_value** values) {
    Numbers** slot = state_slot<Numbers>(context, true);
    if (!slot || !*slot) return sqlite3_result_error_nomem(context);
    (*slot)->push_back(static_cast<uint64_t>(sqlite3_value_int64(values[0])));
}

void numbers_final(sqlite3_context* context) {
    Numbers** slot = state_slot<Numbers>(context, false);
    if (!slot || !*slot) return sqlite3_result_zeroblob(context, 0);
    Numbers& numbers = **slot;
    if (!std::is_sorted(numbers.begin(), numbers.end())) std::sort(numbers.begin(), numbers.end());
    sqlite3_result_blob64(context, numbers.data(), numbers.size() * sizeof numbers[0], SQLITE_TRANSIENT);
    delete *slot;
}

}  // namespace

int create_aggregates(sqlite3* database) {
    constexpr int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    const int status =
        sqlite3_create_function(database, "strobe_quantile", 5, flags, nullptr, nullptr, quantile_step, quantile_final);
    if (status != SQLITE_OK) return status;
    return sqlite3_create_function(database, "strobe_numbers", 1, flags, nullptr, nullptr, numbers_step, numbers_final);
}

}  // namespace strobe::timeline
