// Writes into the code of a running process, from outside, so that no thread of it sees half of a change.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace strobe {

// Where a thread goes on that stands one, two, three or four bytes behind the first that is changed: in a copy of the
// instructions that lie there now. 0: it cannot.
using Copies = std::array<std::uint64_t, 4>;

// A word of the process's memory.
struct Word {
    std::uint64_t address;
    std::uint64_t value;
};

struct CodeChange {
    std::uint64_t address;
    std::string bytes;                  // what is to stand there, up to 5 of them
    std::string expected;               // what must stand there
    std::optional<Copies> copies;       // none: what is replaced is one instruction, and nobody stands in it
    std::optional<Word> provided = {};  // it is made only while this word is there
};

enum class CodeResult : std::uint8_t { kWritten, kOtherCode, kOccupied, kSignalBlocked };

struct CodeAnswer {
    std::int64_t worked_ns;           // this thread's, while the others were held
    std::vector<CodeResult> results;  // of each change
};

// Makes all changes whose place holds what is expected, and whose word is there, through /proc/PID/mem, which needs no
// writable pages. All threads of the process are held meanwhile, milliseconds each time. Without `is_running` the
// program has not begun, and its thread may be held by another tracer: then only those that this one has put into the
// process run. A thread that stands within what is replaced, or is in a signal handler that will return there, goes on
// in the copy; where there is none, and it does not leave by itself within some attempts, the change is not made.
// A breakpoint instruction is written only while no thread of the program has SIGTRAP blocked, or is in a handler that
// returns to where it has: SIGTRAP is taken out of what a thread has blocked for longer. `agents`: threads that are not
// the program's, and never come there.
// Throws std::system_error as ThreadStop does when a thread does not stop in about three seconds, and where the memory
// cannot be written; nothing has changed then.
CodeAnswer write_code(pid_t process, const std::vector<CodeChange>& changes, bool is_running,
                      const std::vector<pid_t>& agents = {});

}  // namespace strobe
