// Memory of another process through /proc/PID/mem, which needs neither readable nor writable pages.
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>

namespace strobe {

class ProcessMemory {
  public:
    explicit ProcessMemory(pid_t process)
        : file_(open(("/proc/" + std::to_string(process) + "/mem").c_str(), O_RDWR | O_CLOEXEC)) {
        if (file_ < 0) throw std::system_error(errno, std::generic_category(), "the memory of the process");
    }
    ProcessMemory(const ProcessMemory&) = delete;
    ProcessMemory& operator=(const ProcessMemory&) = delete;
    ~ProcessMemory() { close(file_); }

    // How many bytes could be read, from the front.
    std::size_t read(std::uint64_t address, void* bytes, std::size_t count) const {
        const ssize_t done = pread(file_, bytes, count, static_cast<off_t>(address));
        return done < 0 ? 0 : static_cast<std::size_t>(done);
    }
    // Throws std::system_error: ESRCH where the process is gone. Some of the bytes may have been written.
    void write(std::uint64_t address, const void* bytes, std::size_t count) const {
        const ssize_t done = pwrite(file_, bytes, count, static_cast<off_t>(address));
        if (done == static_cast<ssize_t>(count)) return;
        const int error = done < 0 ? errno : done == 0 ? ESRCH : EIO;  // 0: there is no memory any more
        throw std::system_error(error, std::generic_category(), "writing code");
    }

  private:
    int file_;
};

}  // namespace strobe
