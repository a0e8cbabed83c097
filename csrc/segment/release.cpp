#include "release.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>

#include "../abi/strobe_abi.h"
#include "segment.h"

namespace strobe {
namespace {

class Descriptor {
  public:
    explicit Descriptor(const std::string& path) : fd_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
        if (fd_ < 0) throw std::system_error(errno, std::generic_category(), path);
    }
    ~Descriptor() { close(fd_); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }

  private:
    int fd_;
};

// Whoever owns a chunk writes what it still has to say (returns of frames that are open) without asking for its pages:
// with those gone, a full file system would be a SIGBUS. One that is claimed from now on is asked for anew.
bool is_owned(int fd, uint64_t offset) {
    uint32_t state = STROBE_CHUNK_FREE;
    const auto place = static_cast<off_t>(offset + offsetof(strobe_chunk, state));
    return pread(fd, &state, sizeof state, place) == sizeof state && state == STROBE_CHUNK_OWNED;
}

// File systems that cannot do it keep what they have.
void punch(int fd, uint64_t offset, uint64_t bytes) {
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (bytes > 0) fallocate(fd, mode, static_cast<off_t>(offset), static_cast<off_t>(bytes));
}

}  // namespace

void end_recording(const std::string& path) {
    const strobe_header header = Segment(path).header();
    const Descriptor file(path);
    const size_t bytes = size_t{header.function_capacity} * sizeof(strobe_function_plan);
    void* map =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), static_cast<off_t>(header.plan_offset));
    if (map == MAP_FAILED) throw std::system_error(errno, std::generic_category(), path);
    auto* plans = static_cast<strobe_function_plan*>(map);
    for (uint32_t function = 0; function < header.function_capacity; function++)
        if (plans[function].flags & STROBE_PLAN_ENABLED)
            plans[function].flags &= static_cast<uint8_t>(~STROBE_PLAN_ENABLED);
    munmap(map, bytes);
}

void release_memory(const std::string& path) {
    const Segment segment(path);
    const strobe_header& header = segment.header();
    const Descriptor file(path);
    const uint64_t used = std::min(segment.used_chunks(), header.chunk_count);
    for (uint64_t index = 0; index < used; index++) {
        const uint64_t offset = header.chunk_offset + index * STROBE_CHUNK_BYTES;
        if (!is_owned(file.get(), offset)) punch(file.get(), offset, STROBE_CHUNK_BYTES);
    }
    const uint64_t end = header.chunk_offset + uint64_t{header.chunk_count} * STROBE_CHUNK_BYTES;
    const uint64_t rest = header.chunk_offset + used * STROBE_CHUNK_BYTES;
    punch(file.get(), rest, end - rest);
}

}  // namespace strobe
