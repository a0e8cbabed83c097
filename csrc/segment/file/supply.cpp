#include "segment/file/supply.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>

#include "segment/file/open.h"
#include "segment/file/segment.h"

namespace strobe {
namespace {

constexpr uint64_t kLeastAhead = 16;  // chunks
constexpr uint64_t kMostAhead = 512;  // 32 MiB: some 40 ms of a thread that does nothing but call
constexpr uint64_t kStep = 16;        // asked for at once
constexpr int kShortPauseMs = 1;
constexpr int kLongPauseMs = 64;
constexpr int kMadvPopulateRead = 22;  // not in the headers of older systems

constexpr uint64_t kLeftFree = 64 << 20;  // bytes: for totals, and for others

bool has_room(int fd) {
    struct statvfs status{};
    return fstatvfs(fd, &status) == 0 && uint64_t{status.f_bavail} * status.f_frsize >= kLeftFree;
}

// The pages of chunks [first, end). They are read, not written: the recorder may be writing there already. A map for
// the moment only, or the whole segment would count as this process's memory.
bool supply(int fd, const strobe_header& header, uint64_t first, uint64_t end) {
    const size_t bytes = (end - first) * STROBE_CHUNK_BYTES;
    const auto offset = static_cast<off_t>(header.chunk_offset + first * STROBE_CHUNK_BYTES);
    void* map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, offset);
    if (map == MAP_FAILED) return false;
    const bool done = madvise(map, bytes, kMadvPopulateRead) == 0;
    munmap(map, bytes);
    return done;
}

}  // namespace

ChunkSupply::ChunkSupply(const std::string& path) {
    const Segment segment(path);
    const strobe_header header = segment.header();
    if (header.reads_make_pages) thread_ = std::thread([this, path, header] { run(path, header); });
}

void ChunkSupply::stop() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
}

bool ChunkSupply::pause(int milliseconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    return !wake_.wait_for(lock, std::chrono::milliseconds(milliseconds), [this] { return stopping_; });
}

void ChunkSupply::run(const std::string& path, const strobe_header& made) {
    int fd = -1;
    try {
        fd = open_segment(path, O_RDONLY);
    } catch (const std::exception&) {  // removed already: the recorder asks for pages itself
        return;
    }
    strobe_header now{};
    uint64_t supplied = 0;
    uint64_t seen = 0;
    int wait_ms = kShortPauseMs;
    bool going = true;
    while (going && pread(fd, &now, sizeof now, 0) == sizeof now) {
        const uint64_t used = now.next_ticket;
        const uint64_t most = std::min(now.chunk_limit, made.chunk_count);
        const uint64_t wanted = std::min<uint64_t>(most, used + std::clamp(used, kLeastAhead, kMostAhead));
        supplied = std::max(supplied, std::min(used, wanted));
        while (supplied < wanted && going) {
            const uint64_t end = std::min(wanted, supplied + kStep);
            going = has_room(fd) && supply(fd, made, supplied, end) && pause(0);
            supplied = end;
        }
        if (supplied >= most) break;
        wait_ms = used == seen ? std::min(2 * wait_ms, kLongPauseMs) : kShortPauseMs;
        seen = used;
        going = going && pause(wait_ms);
    }
    close(fd);
}

}  // namespace strobe
