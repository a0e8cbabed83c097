// Files of /proc, whose process may end while they are read.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace strobe {

// What the file has, up to where it cannot be read; "" where there is none. Inserted into a stream, which takes the
// exceptions of the buffer for itself: read by iterators, a file whose process ends meanwhile (ESRCH) throws.
inline std::string read_proc_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace strobe
