// strobe_totals: the recorder's exact totals, one row per function and thread.
#pragma once

#include "state.h"

namespace strobe::timeline {

int create_totals_table(sqlite3* database, State* state);

}  // namespace strobe::timeline
