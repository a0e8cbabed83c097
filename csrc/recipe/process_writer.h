// Writes into the memory of another process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace strobe {

// Bytes for an address. `mask`: which of their bits are changed; empty: all.
struct MemoryChange {
    std::uint64_t address;
    std::string bytes;
    std::string mask;
};

// Returns 0, or the errno for which not all of it was written: EFAULT where memory is not there or may not be written,
// EPERM, ESRCH. A reader in the process may see a part of it; with a mask, what the process writes meanwhile to other
// bits of these bytes may be lost.
int write_process(pid_t process, const MemoryChange& change);

}  // namespace strobe
