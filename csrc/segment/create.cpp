#include "create.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "../abi/strobe_abi.h"
#include "clock.h"

namespace strobe {
namespace {

constexpr uint64_t kBytesPerEvent = 32;
constexpr uint64_t kSpareChunks = 8;  // chunks that threads have begun and not filled
constexpr uint64_t kLeastChunks = 16;

uint64_t aligned(uint64_t bytes) {
    return (bytes + STROBE_REGION_ALIGN - 1) / STROBE_REGION_ALIGN * STROBE_REGION_ALIGN;
}

strobe_header lay_out(uint32_t chunk_count) {
    strobe_header header{};
    header.magic = STROBE_MAGIC;
    header.version = STROBE_ABI_VERSION;
    header.thread_capacity = STROBE_THREAD_CAPACITY;
    header.function_capacity = kFunctionCapacity;
    header.totals_capacity = kTotalsCapacity;
    header.chunk_count = chunk_count;
    header.chunk_limit = chunk_count;
    header.totals_used = 1;  // entry 0 is never used
    header.thread_offset = aligned(STROBE_HEADER_BYTES);
    header.plan_offset = header.thread_offset + aligned(uint64_t{STROBE_THREAD_CAPACITY} * sizeof(strobe_thread));
    header.totals_offset = header.plan_offset + aligned(uint64_t{kFunctionCapacity} * sizeof(strobe_function_plan));
    header.chunk_offset = header.totals_offset + aligned(uint64_t{kTotalsCapacity} * sizeof(strobe_totals));
    header.total_bytes = header.chunk_offset + uint64_t{chunk_count} * STROBE_CHUNK_BYTES;
    return header;
}

void start_clock(strobe_header& header) {
    header.clock_kind = clock_kind();
    header.ns_per_tick = calibrate_ns_per_tick();
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

}  // namespace

uint32_t chunk_count_for(uint64_t max_events) {
    constexpr uint64_t events_per_chunk = (STROBE_CHUNK_BYTES - sizeof(strobe_chunk)) / kBytesPerEvent;
    const uint64_t full = max_events / events_per_chunk + (max_events % events_per_chunk != 0);
    return static_cast<uint32_t>(std::clamp<uint64_t>(full + kSpareChunks, kLeastChunks, UINT32_MAX / 2));
}

void create_segment(const std::string& path, uint64_t max_events) {
    strobe_header header = lay_out(chunk_count_for(max_events));
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), path);
    try {
        start_clock(header);
        fill(fd, path, header);
    } catch (...) {
        unlink(path.c_str());
        close(fd);
        throw;
    }
    close(fd);
}

}  // namespace strobe
