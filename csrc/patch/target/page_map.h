// Which pages of a process are in use: /proc/PID/pagemap, proc(5).
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace strobe {

class PageMap {
  public:
    static constexpr std::uint64_t kInUse = std::uint64_t{3} << 62;  // present, or swapped out

    explicit PageMap(pid_t process)
        : file_(open(("/proc/" + std::to_string(process) + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC)) {}
    PageMap(const PageMap&) = delete;
    PageMap& operator=(const PageMap&) = delete;
    ~PageMap() {
        if (file_ >= 0) close(file_);
    }

    // The words of up to `count` pages from the one numbered `page` on. How many there are; 0 where the kernel has no
    // such file (CONFIG_PROC_PAGE_MONITOR).
    std::size_t read(std::uint64_t page, std::uint64_t* words, std::size_t count) const {
        const ssize_t done = pread(file_, words, 8 * count, static_cast<off_t>(8 * page));
        return done < 0 ? 0 : static_cast<std::size_t>(done) / 8;
    }

  private:
    int file_;
};

}  // namespace strobe
