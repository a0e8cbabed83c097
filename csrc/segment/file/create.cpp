#include "segment/file/create.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <system_error>

#include "abi/strobe_abi.h"
#include "segment/file/clock.h"

namespace strobe {
namespace {

constexpr uint64_t kBytesPerEvent = 32;
constexpr uint64_t kSpareChunks = 8;  // chunks that threads have begun and not filled
constexpr uint64_t kLeastChunks = 16;
constexpr uint32_t kTotalsCapacityAllocated = 65536;  // where the file cannot be sparse
constexpr int kMadvPopulateWrite = 23;                // not in the headers of older systems

uint64_t aligned(uint64_t bytes) {
    return (bytes + STROBE_REGION_ALIGN - 1) / STROBE_REGION_ALIGN * STROBE_REGION_ALIGN;
}

// Whether the recorder will be able to ask for pages one by one (Linux 5.14). Where it cannot, it writes without
// asking, so the whole file must have its space from the start, or a full file system would raise SIGBUS in the target.
bool kernel_populates_pages() {
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return false;
    const bool populated = madvise(page, 4096, kMadvPopulateWrite) == 0;
    munmap(page, 4096);
    return populated;
}

strobe_header lay_out(uint32_t chunk_count, uint32_t totals_capacity) {
    strobe_header header{};
    header.magic = STROBE_MAGIC;
    header.version = STROBE_ABI_VERSION;
    header.thread_capacity = STROBE_THREAD_CAPACITY;
    header.function_capacity = kFunctionCapacity;
    header.totals_capacity = totals_capacity;
    header.chunk_count = chunk_count;
    header.chunk_limit = chunk_count;
    header.totals_used = 1;  // entry 0 is never used
    header.thread_offset = aligned(STROBE_HEADER_BYTES);
    header.lane_offset = header.thread_offset + aligned(uint64_t{STROBE_THREAD_CAPACITY} * sizeof(strobe_thread));
    header.crash_stack_offset = header.lane_offset + aligned(STROBE_LANES * sizeof(uint32_t));
    header.plan_offset = header.crash_stack_offset + aligned(uint64_t{STROBE_CRASHES} * STROBE_CRASH_STACK_BYTES);
    header.totals_offset = header.plan_offset + aligned(uint64_t{kFunctionCapacity} * sizeof(strobe_function_plan));
    header.chunk_offset = header.totals_offset + aligned(uint64_t{totals_capacity} * sizeof(strobe_totals));
    header.total_bytes = header.chunk_offset + uint64_t{chunk_count} * STROBE_CHUNK_BYTES;
    return header;
}

// The least with which the numbers of a year's events are below 2^63.
uint32_t number_shift_for(double ns_per_tick) {
    constexpr double year_ns = 366.0 * 24 * 3600 * 1e9;
    uint32_t shift = 0;
    while (std::ldexp(year_ns / ns_per_tick, STROBE_LANE_BITS - static_cast<int>(shift)) >= std::ldexp(1.0, 63))
        ++shift;
    return shift;
}

void start_clock(strobe_header& header) {
    header.clock_kind = clock_kind();
    header.ns_per_tick = calibrate_ns_per_tick();
    header.number_shift = number_shift_for(header.ns_per_tick);
    const ClockPair now = read_clock_pair(header.clock_kind);
    header.start_ticks = now.ticks;
    header.start_monotonic_ns = now.monotonic_ns;
}

void fill(int fd, const std::string& path, const strobe_header& header) {
    if (ftruncate(fd, static_cast<off_t>(header.total_bytes)) != 0)
        throw std::system_error(errno, std::generic_category(), path);
    const ssize_t written = pwrite(fd, &header, sizeof header, 0);
    if (written < 0) throw std::system_error(errno, std::generic_category(), path);
    if (written != sizeof header) throw std::system_error(ENOSPC, std::generic_category(), path);
}

bool is_tmpfs(int fd) {
    struct statfs status{};
    return fstatfs(fd, &status) == 0 && status.f_type == TMPFS_MAGIC;
}

// The recorder reads and writes the thread table and the plans without asking for their pages first.
void allocate(int fd, const std::string& path, uint64_t bytes) {
    const int reason = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
    if (reason != 0) throw std::system_error(reason, std::generic_category(), path);
}

}  // namespace

uint32_t chunk_count_for(uint64_t max_events) {
    constexpr uint64_t events_per_chunk = (STROBE_CHUNK_BYTES - sizeof(strobe_chunk)) / kBytesPerEvent;
    const uint64_t full = max_events / events_per_chunk + (max_events % events_per_chunk != 0);
    return static_cast<uint32_t>(std::clamp<uint64_t>(full + kSpareChunks, kLeastChunks, UINT32_MAX / 2));
}

void create_segment(const std::string& path, uint64_t max_events) {
    const bool sparse = kernel_populates_pages();
    strobe_header header = lay_out(chunk_count_for(max_events), sparse ? kTotalsCapacity : kTotalsCapacityAllocated);
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), path);
    try {
        start_clock(header);
        header.reads_make_pages = is_tmpfs(fd);
        fill(fd, path, header);
        allocate(fd, path, sparse ? header.totals_offset : header.total_bytes);
    } catch (...) {
        unlink(path.c_str());
        close(fd);
        throw;
    }
    close(fd);
}

}  // namespace strobe
