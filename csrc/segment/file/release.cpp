#include "segment/file/release.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <vector>

#include "abi/strobe_abi.h"
#include "segment/file/open.h"
#include "segment/file/segment.h"

namespace strobe {
namespace {

class Descriptor {
  public:
    explicit Descriptor(const std::string& path) : fd_(open_segment(path, O_RDWR)) {}
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

// Written as a file and not through a map, which somebody may truncate under us.
void end_recording(const std::string& path) {
    const Segment segment(path);
    const strobe_header& header = segment.header();
    const Descriptor file(path);
    std::vector<strobe_function_plan> plans(header.function_capacity);
    const size_t got = segment.read_at(header.plan_offset, plans.data(), plans.size() * sizeof plans[0]);
    for (size_t function = 0; function < got / sizeof plans[0]; function++) {
        if (!(plans[function].flags & STROBE_PLAN_ENABLED)) continue;
        const auto flags = static_cast<uint8_t>(plans[function].flags & ~STROBE_PLAN_ENABLED);
        const uint64_t offset = header.plan_offset + function * sizeof plans[0] + offsetof(strobe_function_plan, flags);
        if (pwrite(file.get(), &flags, sizeof flags, static_cast<off_t>(offset)) != sizeof flags)
            throw std::system_error(errno, std::generic_category(), path);
    }
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
