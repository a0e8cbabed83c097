// What becomes of a segment that other processes still have mapped when its session ends: children that were forked
// from the session's program, or that program itself where Strobe was attached to it. They go on, and must not notice.
#pragma once

#include <string>

namespace strobe {

// Clears all plans: traced functions of such a process pass straight on from now on. Throws as Segment does.
void end_recording(const std::string& path);

// Gives the memory of the chunks back that nobody writes into; unlinking the file would not, while it is mapped. What
// they held is gone. To be called after end_recording. Throws as Segment does.
void release_memory(const std::string& path);

}  // namespace strobe
