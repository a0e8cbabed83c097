// strobe_calls: one row per ENTER or EXIT record of a segment, merged with numbers of the host's events, in time order.
#pragma once

#include "state.h"

namespace strobe::timeline {

int create_calls_table(sqlite3* database, State* state);

}  // namespace strobe::timeline
