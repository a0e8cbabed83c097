// Threads of a process that stand still for a moment, while others of it run on.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace strobe {

// The threads stand still from the constructor's return until `release`, but no longer than `limit`, and run for a
// moment after 300 ms, and after each 100, or 150 later where one of them is led out of the dynamic loader first: what
// the others wait for may be held by one of these. A thread that cannot
// be held, as one of another debugger's, runs on. Threads that they make meanwhile are held as well, and children that
// they fork are as if nothing had been changed (forked_children.h). When this process is killed all of them go on.
class HeldThreads {
  public:
    HeldThreads(std::vector<pid_t> threads, std::chrono::milliseconds limit);
    HeldThreads(const HeldThreads&) = delete;
    HeldThreads& operator=(const HeldThreads&) = delete;
    ~HeldThreads();

    // Its general registers, by their numbers in DWARF, as they were when the constructor returned. Empty where it was
    // not held then.
    std::vector<std::uint64_t> registers(pid_t thread);

    // Lets go of all; signals that arrived meanwhile are delivered then. False where they ran on before, at the limit.
    bool release();

  private:
    void hold(const std::vector<pid_t>& threads, std::chrono::milliseconds limit);
    bool wait_released(std::chrono::steady_clock::time_point until);

    std::mutex lock_;
    std::condition_variable changed_;
    bool are_held_ = false;
    bool is_released_ = false;
    bool was_in_time_ = false;
    std::map<pid_t, std::vector<std::uint64_t>> registers_;
    std::thread tracer_;  // the kernel takes requests from the tracing thread alone
};

}  // namespace strobe
