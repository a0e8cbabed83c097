#include "patch/code.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>
#include <system_error>

#include "patch/thread_stop.h"

namespace strobe {

namespace {

class ProcessMemory {
  public:
    explicit ProcessMemory(pid_t process)
        : file_(open(("/proc/" + std::to_string(process) + "/mem").c_str(), O_RDWR | O_CLOEXEC)) {
        if (file_ < 0) throw std::system_error(errno, std::generic_category(), "the memory of the process");
    }
    ProcessMemory(const ProcessMemory&) = delete;
    ProcessMemory& operator=(const ProcessMemory&) = delete;
    ~ProcessMemory() { close(file_); }

    void read(std::uint64_t address, std::string& bytes) const {
        check(pread(file_, bytes.data(), bytes.size(), static_cast<off_t>(address)), bytes.size(), "reading code");
    }
    void write(std::uint64_t address, const std::string& bytes) const {
        check(pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(address)), bytes.size(), "writing code");
    }

  private:
    static void check(ssize_t done, std::size_t wanted, const char* what) {
        if (done != static_cast<ssize_t>(wanted)) {
            throw std::system_error(done < 0 ? errno : EIO, std::generic_category(), what);
        }
    }

    int file_;
};

std::vector<std::string> read_all(const ProcessMemory& memory, const std::vector<CodeChange>& changes) {
    std::vector<std::string> found;
    found.reserve(changes.size());
    for (const CodeChange& change : changes) {
        std::string bytes(change.bytes.size(), '\0');
        memory.read(change.address, bytes);
        found.push_back(std::move(bytes));
    }
    return found;
}

// All changes or none: a failure in the middle leaves the program as it was. `before`: what is there.
void write_all(const ProcessMemory& memory, const std::vector<CodeChange>& changes,
               const std::vector<std::string>& before) {
    std::size_t written = 0;
    try {
        for (; written < changes.size(); written++) memory.write(changes[written].address, changes[written].bytes);
    } catch (...) {
        for (std::size_t i = 0; i < written; i++) memory.write(changes[i].address, before[i]);
        throw;
    }
}

// What this thread has worked, whatever else the machine was busy with.
std::int64_t own_time_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// Of the changes sorted by address, whether one has `at` behind its first byte.
bool is_occupied(const std::vector<CodeChange>& sorted, std::uint64_t at) {
    const auto next = std::ranges::lower_bound(sorted, at, {}, &CodeChange::address);
    if (next == sorted.begin()) return false;
    const CodeChange& change = *std::prev(next);
    return at < change.address + change.occupied;
}

}  // namespace

std::int64_t write_code(pid_t process, const std::vector<CodeChange>& changes, bool stop) {
    const ProcessMemory memory(process);
    std::vector<CodeChange> sorted = changes;
    std::ranges::sort(sorted, {}, &CodeChange::address);
    const std::vector<std::string> before = read_all(memory, sorted);
    const std::int64_t begin_ns = own_time_ns();
    {
        std::optional<ThreadStop> held;
        if (stop) held.emplace(process).leave([&sorted](std::uint64_t at) { return is_occupied(sorted, at); });
        write_all(memory, sorted, before);
    }
    return stop ? own_time_ns() - begin_ns : 0;
}

}  // namespace strobe
