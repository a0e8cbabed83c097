// strobe_newest(path): number of the newest call event of a segment, null where there is none.
#pragma once

#include "state.h"

namespace strobe::timeline {

int create_newest(sqlite3* database, State* state);

}  // namespace strobe::timeline
