// What the kernel says of threads.
#pragma once

#include <sys/types.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace strobe {

// As in proc(5); X where it is gone.
inline char task_state(pid_t process, pid_t id) {
    std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(id) + "/stat");
    std::string line;
    if (!std::getline(file, line)) return 'X';
    const auto name_end = line.rfind(')');
    return name_end == std::string::npos || name_end + 2 >= line.size() ? 'X' : line[name_end + 2];
}

// The threads of a process; none where it is gone.
inline std::vector<pid_t> task_ids(pid_t process) {
    std::vector<pid_t> ids;
    std::error_code error;
    const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(process) + "/task", error);
    if (error) return ids;
    for (const auto& entry : tasks) {
        const std::string name = entry.path().filename();
        pid_t id = 0;
        std::from_chars(name.data(), name.data() + name.size(), id);
        ids.push_back(id);
    }
    return ids;
}

}  // namespace strobe
