#include "patch/target/program_identity.h"

#include <fcntl.h>
#include <unistd.h>

#include "patch/target/proc_file.h"

namespace strobe {

namespace {

constexpr off_t kAnyAddress = 1 << 16;

// As the kernel has it, not the program. The addresses in it are others after an exec, unless they are not chosen at
// random (personality(2)).
std::string auxiliary_vector(pid_t process) { return read_proc_file("/proc/" + std::to_string(process) + "/auxv"); }

}  // namespace

ProgramIdentity::ProgramIdentity(pid_t process)
    : process_(process),
      memory_(open(("/proc/" + std::to_string(process) + "/mem").c_str(), O_RDONLY | O_CLOEXEC)),
      vector_(auxiliary_vector(process)) {}

ProgramIdentity::~ProgramIdentity() {
    if (memory_ >= 0) close(memory_);
}

// Memory that is gone is at its end everywhere (mem_rw in Linux's fs/proc/base.c); where nothing is mapped in memory
// that is there, reading fails. It may outlive an exec, in a child of vfork that another thread has made.
bool ProgramIdentity::is_current() const {
    char byte = 0;
    if (memory_ >= 0 && pread(memory_, &byte, 1, kAnyAddress) == 0) return false;
    return auxiliary_vector(process_) == vector_;
}

}  // namespace strobe
