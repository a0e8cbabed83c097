// Writes into the code of a running process, from outside, so that no thread of it sees half of a change.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace strobe {

struct CodeChange {
    std::uint64_t address;
    std::string bytes;  // what is to stand there
    std::uint64_t
        occupied;  // bytes from `address` of the instructions that are replaced: no thread may stand behind its first
};

// Writes all changes through /proc/PID/mem, which needs no writable pages. With `stop` all threads of the process are
// held meanwhile, and those that stand in the middle of what is replaced are first let run out of it; without it nobody
// may be running there. Returns how many nanoseconds this thread worked for while they were held. Throws
// std::system_error as ThreadStop, and where the memory cannot be written; what was written until then is taken back.
std::int64_t write_code(pid_t process, const std::vector<CodeChange>& changes, bool stop);

}  // namespace strobe
