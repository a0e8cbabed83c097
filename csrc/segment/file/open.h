// How the host opens a segment: in /dev/shm everybody may make files, also under the name of one that is gone.
#pragma once

#include <string>

namespace strobe {

// A descriptor of a regular file of this user, never of what a symbolic link leads to. `flags`: O_RDONLY or O_RDWR.
// Throws std::system_error where it cannot be opened, SegmentError for another user's or no regular file.
int open_segment(const std::string& path, int flags);

}  // namespace strobe
