/*
 * Entry point of the SQLite extension `_timeline.so`: tables and functions over the segment at a path.
 *
 *   strobe_calls(path, functions, threads, returns, hosts, skip)
 *       a row per ENTER or EXIT record in time order: number (= rowid), timestamp_ns, kind, function_id, thread_index,
 *       tid, depth, duration_ns, return_value (word), arguments (blob of u64), flags, parent_number, total. Order by
 *       number or timestamp_ns costs nothing; total is how many rows there are without skip.
 *   strobe_counts(path, functions, threads, returns)
 *       the same selection counted: function_id, kind, count
 *   strobe_kept_totals(path, functions, threads, returns)
 *       the same selection added up, in the columns of strobe_totals
 *   strobe_totals(path, functions, threads)
 *       the recorder's exact totals, a row per function_id and thread_index: calls, exits, unwound, exits_missed,
 *       total_ns, min_ns, max_ns, sampled_out_enters, sampled_out_exits, lost_enters, lost_exits, histogram (128 u32),
 *       ns_per_tick, self_ns (null in strobe_kept_totals), duration_ns_sum, own_ns (self_ns, of kept calls without the
 *       kept ones within them), unheld_enters, unheld_exits, undecided (calls whose condition did not hold)
 *   strobe_quantile(histogram, q, min_ns, max_ns, ns_per_tick)
 *       aggregate over histograms: ns, interpolated in the bucket, within the exact least and greatest
 *   strobe_numbers(number)      aggregate: a sorted blob of u64, as `hosts` takes it
 *   strobe_newest(path, pid)    number of the newest call event, of one process or (0) of all
 *
 * The arguments are hidden columns: `where functions = ?` with a blob of u32 or a JSON list; `returns` has four u64 a
 * function (id, mask, value, equal or not); `hosts` are the numbers of host events that are to be merged in (they come
 * as rows of kind 0); `skip` leaves out that many of the merged rows without looking at each: one pass counts every
 * chunk's matches and is kept for the next page, then a page lies a few chunks from where it is looked for.
 * `=` on kind, tid; `=` and IN on function_id, thread_index; `=` and bounds on number, timestamp_ns; `>` and `>=` on
 * duration_ns are evaluated inside the scan, for strobe_counts and strobe_kept_totals too.
 */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include <new>

#include "aggregates.h"
#include "calls_table.h"
#include "kept_tables.h"
#include "newest.h"
#include "state.h"
#include "totals_table.h"

using strobe::timeline::State;

namespace {

// The state must go with the connection and not with the first module that is dropped, so it hangs on a function.
int create_state(sqlite3* database, State** state) {
    *state = new (std::nothrow) State();
    if (!*state) return SQLITE_NOMEM;
    auto version = [](sqlite3_context* context, int, sqlite3_value**) {
        sqlite3_result_int(context, STROBE_ABI_VERSION);
    };
    auto destroy = [](void* owned) { delete static_cast<State*>(owned); };
    return sqlite3_create_function_v2(database, "strobe_abi_version", 0, SQLITE_UTF8, *state, version, nullptr, nullptr,
                                      destroy);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int sqlite3_timeline_init(sqlite3* database, char**,
                                                                            const sqlite3_api_routines* api) {
    SQLITE_EXTENSION_INIT2(api);
    State* state = nullptr;
    int status = create_state(database, &state);
    if (status == SQLITE_OK) status = strobe::timeline::create_calls_table(database, state);
    if (status == SQLITE_OK) status = strobe::timeline::create_counts_table(database, state);
    if (status == SQLITE_OK) status = strobe::timeline::create_kept_totals_table(database, state);
    if (status == SQLITE_OK) status = strobe::timeline::create_totals_table(database, state);
    if (status == SQLITE_OK) status = strobe::timeline::create_newest(database, state);
    if (status == SQLITE_OK) status = strobe::timeline::create_aggregates(database);
    return status;
}
