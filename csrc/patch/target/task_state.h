// What the kernel says of threads.
#pragma once

#include <sys/types.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "patch/target/proc_file.h"

namespace strobe {

// What /proc/PROCESS/task/ID/stat says after the name, which may contain anything, newlines too; "" where it is gone.
inline std::string task_fields(pid_t process, pid_t id) {
    const std::string text =
        read_proc_file("/proc/" + std::to_string(process) + "/task/" + std::to_string(id) + "/stat");
    const auto name_end = text.rfind(')');
    return name_end == std::string::npos || name_end + 2 >= text.size() ? "" : text.substr(name_end + 2);
}

// As in proc(5); X where it is gone.
inline char task_state(pid_t process, pid_t id) {
    const std::string fields = task_fields(process, id);
    return fields.empty() ? 'X' : fields.front();
}

// When the process started, in clock ticks since the boot; 0 where it is gone.
inline std::uint64_t start_ticks(pid_t process) {
    constexpr int kBefore = 19;  // fields after the name
    std::istringstream fields(task_fields(process, process));
    std::string field;
    for (int i = 0; i < kBefore; i++) fields >> field;
    std::uint64_t ticks = 0;
    fields >> ticks;
    return ticks;
}

// What /proc/ID/status says of a thread or a process, read once.
class TaskStatus {
  public:
    explicit TaskStatus(pid_t id) {
        std::ifstream file("/proc/" + std::to_string(id) + "/status");
        for (std::string line; std::getline(file, line);) lines_.push_back(std::move(line));
    }

    // `field` with its colon.
    bool has(std::string_view field) const { return !value_of(field).empty(); }

    // 0 where the kernel does not give it.
    std::uint64_t number(std::string_view field, int base = 10) const {
        return std::strtoull(value_of(field).c_str(), nullptr, base);
    }

  private:
    std::string value_of(std::string_view field) const {
        for (const std::string& line : lines_) {
            if (line.starts_with(field)) return line.substr(field.size());
        }
        return "";
    }

    std::vector<std::string> lines_;
};

// The threads of a process; none where it is gone, fewer where it goes meanwhile.
inline std::vector<pid_t> task_ids(pid_t process) {
    std::vector<pid_t> ids;
    std::error_code error;
    std::filesystem::directory_iterator task("/proc/" + std::to_string(process) + "/task", error);
    for (; !error && task != std::filesystem::directory_iterator(); task.increment(error)) {
        const std::string name = task->path().filename();
        pid_t id = 0;
        std::from_chars(name.data(), name.data() + name.size(), id);
        ids.push_back(id);
    }
    return ids;
}

}  // namespace strobe
