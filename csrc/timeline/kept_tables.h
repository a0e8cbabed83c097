// strobe_counts and strobe_kept_totals: what a selection of calls adds up to, in one native scan.
#pragma once

#include "state.h"

namespace strobe::timeline {

int create_counts_table(sqlite3* database, State* state);
int create_kept_totals_table(sqlite3* database, State* state);

}  // namespace strobe::timeline
