// The columns that strobe_totals and strobe_kept_totals have in common, so that one query serves both.
#pragma once

#include <cstdint>

#include "segment/file/segment.h"
#include "sqlite.h"

namespace strobe::timeline {

#define STROBE_TOTALS_COLUMNS                                                                                \
    "function_id integer, thread_index integer, calls integer, exits integer, unwound integer,"              \
    " exits_missed integer, total_ns integer, min_ns integer, max_ns integer, sampled_out_enters integer,"   \
    " sampled_out_exits integer, lost_enters integer, lost_exits integer, histogram blob, ns_per_tick real," \
    " self_ns integer, duration_ns_sum integer, own_ns integer, unheld_enters integer,"                      \
    " unheld_exits integer, undecided integer"

constexpr int kTotalsColumns = 21;

// self_ticks where it is not known: events that were kept do not say who called whom.
constexpr uint64_t kUnknownTicks = UINT64_MAX;

// What both tables have of one function in one thread. `own_ticks`: the durations without what was spent in calls that
// are in the table as well, so that what several functions took together is the sum.
struct TotalsRow {
    strobe_totals totals;
    uint64_t own_ticks;
};

// Durations are null while no call has ended; `histogram` is a blob of 128 counts of 32 bits.
inline void totals_column(sqlite3_context* context, int column, const TotalsRow& all, const Segment& segment) {
    const strobe_totals& row = all.totals;
    auto integer = [context](uint64_t value) { sqlite3_result_int64(context, static_cast<sqlite3_int64>(value)); };
    auto duration = [&](uint64_t ticks) {
        if (row.exits) sqlite3_result_int64(context, segment.duration_ns(ticks));
    };
    switch (column) {
        case 0:
            return integer(row.function);
        case 1:
            return integer(row.thread_index);
        case 2:
            return integer(row.calls);
        case 3:
            return integer(row.exits);
        case 4:
            return integer(row.unwound);
        case 5:
            return integer(row.exits_missed);
        case 6:
            return duration(row.total_ticks);
        case 7:
            return duration(row.min_ticks);
        case 8:
            return duration(row.max_ticks);
        case 9:
            return integer(row.sampled_out_enters);
        case 10:
            return integer(row.sampled_out_exits);
        case 11:
            return integer(row.lost_enters);
        case 12:
            return integer(row.lost_exits);
        case 13:
            return sqlite3_result_blob(context, row.histogram, sizeof row.histogram, SQLITE_TRANSIENT);
        case 14:
            return sqlite3_result_double(context, segment.header().ns_per_tick);
        case 15:
            return row.self_ticks == kUnknownTicks ? sqlite3_result_null(context) : duration(row.self_ticks);
        case 16:
            return duration(row.duration_ticks);
        case 17:
            return duration(all.own_ticks);
        case 18:
            return integer(row.unheld_enters);
        case 19:
            return integer(row.unheld_exits);
        case 20:
            return integer(row.undecided);
        default:
            return;
    }
}

}  // namespace strobe::timeline
