#include "segment/file/segment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "segment/file/clock.h"
#include "segment/file/open.h"

namespace strobe {
namespace {

constexpr uint32_t kMostFunctions = 1u << 22;  // keeps a damaged capacity from taking memory
constexpr uint64_t kLastTicksUnknown = UINT64_MAX;

template <typename Word>
Word load_acquire(const Word& word) {
    return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

using Wide = unsigned __int128;

// ns_per_tick as what it is, numerator / 2^shift: products of a double lose whole nanoseconds after some months.
// fault_of keeps the shift below 63, so that any 64 bits shifted by it fit.
struct Rate {
    uint64_t numerator;
    int shift;
    explicit Rate(double ns_per_tick) {
        int exponent = 0;
        numerator = static_cast<uint64_t>(std::ldexp(std::frexp(ns_per_tick, &exponent), 53));
        shift = 53 - exponent;
    }
};

uint64_t moment_rounded_up(uint64_t ticks, uint32_t number_shift) {
    const uint64_t moment = ticks >> number_shift;
    return moment + ((moment << number_shift) < ticks ? 1 : 0);
}

bool region_fits(uint64_t offset, uint64_t count, uint64_t size, uint64_t total_bytes) {
    return offset >= STROBE_HEADER_BYTES && offset % STROBE_REGION_ALIGN == 0 && offset <= total_bytes &&
           count <= (total_bytes - offset) / size;
}

const char* fault_of(const strobe_header& h) {
    if (h.magic != STROBE_MAGIC) return "it is not a segment";
    if (h.version < STROBE_ABI_OLDEST || h.version > STROBE_ABI_VERSION)
        return "it was made by another version of Strobe";
    if (h.clock_kind > STROBE_CLOCK_TSC) return "its clock is unknown";
    if (!(h.ns_per_tick > 1e-3 && h.ns_per_tick < 1e6)) return "its clock rate is damaged";
    if (h.number_shift > STROBE_NUMBER_SHIFT_MOST) return "the scale of its event numbers is damaged";
    if (h.thread_capacity > STROBE_THREAD_CAPACITY) return "its thread table is damaged";
    if (h.function_capacity > kMostFunctions) return "its function capacity is damaged";
    const bool regions_fit =
        region_fits(h.thread_offset, h.thread_capacity, sizeof(strobe_thread), h.total_bytes) &&
        region_fits(h.plan_offset, h.function_capacity, sizeof(strobe_function_plan), h.total_bytes) &&
        (h.crash_stack_offset == 0 ||
         region_fits(h.crash_stack_offset, STROBE_CRASHES, STROBE_CRASH_STACK_BYTES, h.total_bytes)) &&
        region_fits(h.totals_offset, h.totals_capacity, sizeof(strobe_totals), h.total_bytes) &&
        region_fits(h.chunk_offset, h.chunk_count, STROBE_CHUNK_BYTES, h.total_bytes);
    return regions_fit ? nullptr : "its regions do not fit its size";
}

bool size_is_sane(uint32_t used_bytes) {
    return used_bytes >= sizeof(strobe_chunk) && used_bytes <= STROBE_CHUNK_BYTES;
}

ChunkSummary summarise(uint32_t index, const strobe_chunk& chunk) {
    return {.index = index,
            .thread_index = chunk.thread_index,
            .lane = chunk.lane,
            .state = chunk.state,
            .record_count = static_cast<uint32_t>(chunk.progress >> 32),
            .size = static_cast<uint32_t>(chunk.progress),
            .sequence = chunk.sequence,
            .previous_sequence = chunk.previous_sequence,
            .first_ticks = chunk.first_ticks,
            .last_ticks = kLastTicksUnknown};
}

}  // namespace

Segment::Segment(const std::string& path) {
    fd_ = open_segment(path, O_RDONLY);
    try {
        map_file();
        validate();
    } catch (...) {
        close(fd_);
        throw;
    }
}

Segment::~Segment() { close(fd_); }

void Segment::map_file() {
    file_ = std::make_unique<const FileMap>(fd_, true);
    map_ = file_->data();
    map_bytes_ = file_->size();
    if (map_bytes_ < STROBE_HEADER_BYTES) throw SegmentError("it is too short for a segment");
}

// A file that is shorter than its header says was cut off: what is left of it is still given.
void Segment::validate() {
    header_ = read_header();
    if (const char* fault = fault_of(header_)) throw SegmentError(fault);
    const uint64_t chunk_bytes = map_bytes_ > header_.chunk_offset ? map_bytes_ - header_.chunk_offset : 0;
    chunk_count_ = static_cast<uint32_t>(std::min<uint64_t>(header_.chunk_count, chunk_bytes / STROBE_CHUNK_BYTES));
    sealed_.resize(chunk_count_);
}

strobe_header Segment::read_header() const {
    strobe_header copy;
    std::memcpy(&copy, map_, sizeof copy);
    return copy;
}

template <typename Field>
Field Segment::live(Field strobe_header::* field) const {
    return load_acquire(reinterpret_cast<const strobe_header*>(map_)->*field);
}

std::string Segment::damage() const {
    struct stat status{};
    const uint64_t bytes = fstat(fd_, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
    if (bytes >= header_.total_bytes) return file_->was_cut() ? "pages of it could not be read" : "";
    return "it was truncated: " + std::to_string(bytes) + " of " + std::to_string(header_.total_bytes) +
           " bytes are there";
}

int64_t Segment::duration_ns(uint64_t ticks) const {
    const Rate rate(header_.ns_per_tick);
    const Wide ns = Wide{ticks} * rate.numerator >> rate.shift;
    return ns < INT64_MAX ? static_cast<int64_t>(ns) : INT64_MAX;
}

uint64_t Segment::duration_from_ns(int64_t ns) const {
    if (ns <= 0) return 0;
    const Rate rate(header_.ns_per_tick);
    const Wide ticks = ((Wide{static_cast<uint64_t>(ns)} << rate.shift) + rate.numerator - 1) / rate.numerator;
    return ticks < UINT64_MAX ? static_cast<uint64_t>(ticks) : UINT64_MAX;
}

uint64_t Segment::ticks_from_ns(int64_t ns) const {
    const uint64_t ticks = duration_from_ns(ns);
    const uint64_t moment = moment_rounded_up(ticks, header_.number_shift);
    return moment > UINT64_MAX >> header_.number_shift ? UINT64_MAX : moment << header_.number_shift;
}

uint64_t Segment::ticks_of(uint64_t number) const { return number >> STROBE_LANE_BITS << header_.number_shift; }

uint64_t Segment::ticks_until_ns(int64_t ns) const {
    if (ns < 0) return 0;
    if (ns == INT64_MAX) return UINT64_MAX;
    return ticks_from_ns(ns + 1) - 1;
}

uint64_t Segment::now_ticks() const {
    const uint64_t now = clock_ticks(header_.clock_kind);
    return now > header_.start_ticks ? now - header_.start_ticks : 0;
}

ExitState Segment::exit_state() const { return {live(&strobe_header::exit_state), live(&strobe_header::exit_code)}; }

std::vector<Thread> Segment::threads() const {
    // The entry for the threads beyond the table is at its end, and is not counted.
    const uint32_t handed_out = live(&strobe_header::thread_count);
    const uint32_t count = handed_out < STROBE_THREAD_INDEX_SHARED ? std::min(handed_out, header_.thread_capacity)
                                                                   : header_.thread_capacity;
    std::vector<strobe_thread> entries(count);
    const size_t got = read_at(header_.thread_offset, entries.data(), count * sizeof(strobe_thread));
    entries.resize(got / sizeof(strobe_thread));
    std::vector<Thread> threads;
    for (uint32_t index = 0; index < entries.size(); ++index) {
        const strobe_thread& entry = entries[index];
        if (entry.tid == 0) continue;  // handed out, not written yet
        threads.push_back({index, entry.pid, entry.tid, entry.start_ticks, entry.end_ticks,
                           std::string(entry.name, strnlen(entry.name, sizeof entry.name))});
    }
    return threads;
}

uint32_t Segment::used_chunks() const {
    return static_cast<uint32_t>(std::min<uint64_t>(live(&strobe_header::next_ticket), chunk_count_));
}

bool Segment::ring_is_unwrapped() const {
    return live(&strobe_header::next_ticket) <= live(&strobe_header::chunk_limit);
}

// Read with read_at: a claimed chunk whose pages the recorder has not got yet must not be touched through the map,
// which would allocate them, and raise SIGBUS here when the file system is full. A sequence other than 0 says that they
// are there.
std::vector<ChunkSummary> Segment::chunks() const {
    std::vector<ChunkSummary> found;
    const uint32_t used = used_chunks();
    found.reserve(used);
    for (uint32_t index = 0; index < used; ++index) {
        strobe_chunk chunk{};
        const uint64_t offset = header_.chunk_offset + uint64_t{index} * STROBE_CHUNK_BYTES;
        read_at(offset, &chunk, offsetof(strobe_chunk, open_ticks));
        if (chunk.sequence == 0 || !size_is_sane(static_cast<uint32_t>(chunk.progress))) continue;
        found.push_back(summarise(index, chunk));
        if (chunk.state == STROBE_CHUNK_FULL) found.back().last_ticks = sealed_last_ticks(index, chunk.sequence);
    }
    std::sort(found.begin(), found.end(),
              [](const ChunkSummary& a, const ChunkSummary& b) { return a.first_ticks < b.first_ticks; });
    return found;
}

const uint8_t* Segment::chunk_bytes(uint32_t index) const {
    return map_ + header_.chunk_offset + uint64_t{index} * STROBE_CHUNK_BYTES;
}

bool Segment::map_chunk(const ChunkSummary& summary, ChunkView& view) const {
    const uint8_t* bytes = chunk_bytes(summary.index);
    const auto& chunk = *reinterpret_cast<const strobe_chunk*>(bytes);
    if (load_acquire(chunk.sequence) != summary.sequence) return false;
    // Never more than is published: a list read in the middle of a takeover may have the size of the chunk's life
    // before. A full chunk grows no more, and the list may have its size from a moment before its last record.
    auto size = static_cast<uint32_t>(load_acquire(chunk.progress));
    if (summary.state != STROBE_CHUNK_FULL) size = std::min(size, summary.size);
    view = {bytes, size, header_.function_capacity, header_.number_shift};
    return size_is_sane(size);
}

bool Segment::copy_chunk(const ChunkSummary& summary, ChunkBuffer& buffer, ChunkView& view) const {
    if (!map_chunk(summary, view)) return false;
    const auto& chunk = *reinterpret_cast<const strobe_chunk*>(view.bytes);
    std::memcpy(buffer.bytes, view.bytes, view.size);
    std::atomic_thread_fence(std::memory_order_acquire);
    view.bytes = buffer.bytes;
    return load_acquire(chunk.sequence) == summary.sequence;
}

uint64_t Segment::sealed_last_ticks(uint32_t index, uint64_t sequence) const {
    const std::lock_guard lock(sealed_mutex_);
    return sealed_[index].sequence == sequence ? sealed_[index].last_ticks : kLastTicksUnknown;
}

void Segment::remember_last_ticks(const ChunkSummary& summary, uint64_t last_ticks) const {
    if (summary.state != STROBE_CHUNK_FULL) return;
    const std::lock_guard lock(sealed_mutex_);
    sealed_[summary.index] = {summary.sequence, last_ticks};
}

size_t Segment::read_at(uint64_t offset, void* destination, size_t size) const {
    size_t done = 0;
    while (done < size) {
        const ssize_t got =
            pread(fd_, static_cast<uint8_t*>(destination) + done, size - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += static_cast<size_t>(got);
    }
    return done;
}

}  // namespace strobe
