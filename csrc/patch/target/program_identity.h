// Which program a process runs: another one after each exec, also where it execs itself.
#pragma once

#include <sys/types.h>

#include <string>

namespace strobe {

// Equal for the same program alone; "" where the process is gone or may not be read.
std::string program_identity(pid_t process);

}  // namespace strobe
