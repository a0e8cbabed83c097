// Children that a program forks while the agent comes or goes: each has what the agent has changed so far, and none of
// its threads.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <vector>

#include "patch/target/process_memory.h"

namespace strobe {

// Used by one thread, which traces the program.
class ForkedChildren {
  public:
    // Learns what stands in the program where nobody has changed it. `thread`: any of it. Without this children are let
    // go of as they are.
    void learn(pid_t thread, const ProcessMemory& memory);

    // `forked`, which the calling thread traces as well, was made by `thread`, which stands at that event. It has not
    // run yet: what the dynamic linker calls when libraries come and go is there as its file has it, and the linker's
    // locks are free that another thread held. Nothing is done where the two share their memory.
    void restore(pid_t thread, pid_t forked);
    // One whose maker was killed, so that nothing is known of it.
    void add(pid_t forked);
    // Lets those go that have come to their first stop since, and has their parents learn the end of those that were
    // killed before. The others are let go of when the calling thread ends.
    void let_go();

  private:
    void put_code_back(const ProcessMemory& child) const;

    std::uint64_t notifier_ = 0;            // 0: not known
    std::array<unsigned char, 16> code_{};  // there
    std::vector<pid_t> forked_;             // not let go of yet
};

}  // namespace strobe
