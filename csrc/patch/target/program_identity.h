// Which program a process runs: another one after each exec, also where it execs itself.
#pragma once

#include <sys/types.h>

#include <string>

namespace strobe {

// The program that a process runs when this is made. Nothing that the program writes changes what is said of it.
class ProgramIdentity {
  public:
    explicit ProgramIdentity(pid_t process);
    ProgramIdentity(const ProgramIdentity&) = delete;
    ProgramIdentity& operator=(const ProgramIdentity&) = delete;
    ~ProgramIdentity();

    // Whether the process still runs it. False, too, where it has ended.
    bool is_current() const;

  private:
    pid_t process_;
    int memory_;  // /proc/PID/mem: of this program alone, for ever; -1 where it may not be read
    std::string vector_;
};

}  // namespace strobe
