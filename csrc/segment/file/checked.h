// When the host last saw that the hooks stood and the recorder was on.
#pragma once

#include <cstdint>
#include <string>

namespace strobe {

// Writes strobe_header.checked_ticks of a segment that is being recorded into. Throws std::system_error.
void note_checked(const std::string& path, uint64_t ticks);

}  // namespace strobe
