// strobe_newest(path, pid): number of the newest call event of a segment, null where there is none; of one process, or
// of all for 0.
#pragma once

#include "state.h"

namespace strobe::timeline {

int create_newest(sqlite3* database, State* state);

}  // namespace strobe::timeline
