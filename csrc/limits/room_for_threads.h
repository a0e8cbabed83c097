#pragma once

namespace strobe {

// Whether the system allows so many threads more at this moment, whatever limits them: RLIMIT_NPROC, which counts those
// of all processes of a user, a control group, or a container. They are begun, and ended again.
bool has_room_for_threads(unsigned count);

}  // namespace strobe
