// What the kernel says of a thread.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <string>

namespace strobe {

// As in proc(5); X where it is gone.
inline char task_state(pid_t process, pid_t id) {
    std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(id) + "/stat");
    std::string line;
    if (!std::getline(file, line)) return 'X';
    const auto name_end = line.rfind(')');
    return name_end == std::string::npos || name_end + 2 >= line.size() ? 'X' : line[name_end + 2];
}

}  // namespace strobe
