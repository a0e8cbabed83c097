#include "segment/write/writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace strobe {
namespace {

template <typename Word>
void store_release(Word& word, Word value) {
    __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

bool change_state(strobe_chunk& chunk, uint32_t from, uint32_t to) {
    return __atomic_compare_exchange_n(&chunk.state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

uint32_t lane_of(uint32_t thread_index) {
    return thread_index + 1 < STROBE_LANE_HOST ? thread_index + 1 : STROBE_LANE_SHARED;
}

bool is_call(const strobe_record& record) { return STROBE_RECORD_KIND(record) != STROBE_RECORD_THREAD; }

}  // namespace

SegmentWriter::SegmentWriter(const std::string& path) {
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), path);
    struct stat status{};
    fstat(fd, &status);
    bytes_ = static_cast<uint64_t>(status.st_size);
    void* map = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int reason = errno;
    close(fd);
    if (map == MAP_FAILED) throw std::system_error(reason, std::generic_category(), path);
    map_ = static_cast<uint8_t*>(map);
}

SegmentWriter::~SegmentWriter() { munmap(map_, bytes_); }

strobe_thread& SegmentWriter::thread(uint32_t index) {
    return reinterpret_cast<strobe_thread*>(map_ + header().thread_offset)[index];
}

strobe_function_plan& SegmentWriter::plan(uint32_t function) {
    return reinterpret_cast<strobe_function_plan*>(map_ + header().plan_offset)[function];
}

strobe_totals& SegmentWriter::totals(uint32_t entry) {
    return reinterpret_cast<strobe_totals*>(map_ + header().totals_offset)[entry];
}

strobe_chunk& SegmentWriter::chunk(uint32_t index) {
    return *reinterpret_cast<strobe_chunk*>(map_ + header().chunk_offset + uint64_t{index} * STROBE_CHUNK_BYTES);
}

uint32_t SegmentWriter::add_thread(uint32_t pid, uint32_t tid, const std::string& name, uint64_t start_ticks) {
    const uint32_t index = __atomic_fetch_add(&header().thread_count, 1, __ATOMIC_RELAXED);
    strobe_thread& entry = thread(index);
    entry.start_ticks = start_ticks;
    entry.pid = pid;
    std::memcpy(entry.name, name.data(), std::min(name.size(), sizeof entry.name - 1));
    store_release(entry.tid, tid);
    return index;
}

uint32_t SegmentWriter::add_totals(uint32_t function, uint32_t thread_index) {
    const uint32_t index = __atomic_fetch_add(&header().totals_used, 1, __ATOMIC_RELAXED);
    strobe_totals& entry = totals(index);
    entry.thread_index = thread_index;
    entry.min_ticks = UINT64_MAX;
    store_release(entry.function, function);
    return index;
}

ThreadWriter::ThreadWriter(SegmentWriter& segment, uint32_t thread_index, uint32_t tid)
    : segment_(segment), thread_index_(thread_index), tid_(tid), lane_(lane_of(thread_index)) {}

bool ThreadWriter::enter(uint64_t ticks, uint32_t function, uint16_t depth, std::span<const uint64_t> arguments,
                         uint8_t flags) {
    const auto kind_flags = static_cast<uint8_t>(STROBE_RECORD_ENTER | flags << 4);
    const bool kept = append({ticks, function, depth, kind_flags, static_cast<uint8_t>(arguments.size())}, arguments);
    open_ticks_.resize(depth);
    open_ticks_.push_back(kept ? ticks : 0);
    return kept;
}

bool ThreadWriter::exit(uint64_t ticks, uint32_t function, uint16_t depth, uint64_t duration_ticks,
                        const uint64_t* return_word, uint8_t flags) {
    if (open_ticks_.size() > depth) open_ticks_.resize(depth);
    const uint64_t payload[2] = {duration_ticks, return_word ? *return_word : 0};
    const uint8_t words = return_word ? 2 : 1;
    if (return_word) flags |= STROBE_FLAG_HAS_RETURN;
    const auto kind_flags = static_cast<uint8_t>(STROBE_RECORD_EXIT | flags << 4);
    return append({ticks, function, depth, kind_flags, words}, {payload, words});
}

bool ThreadWriter::become(uint64_t ticks, uint32_t thread_index, uint32_t tid) {
    thread_index_ = thread_index;
    tid_ = tid;
    open_ticks_.clear();
    const uint64_t payload[2] = {thread_index, tid};
    return append({ticks, 0, 0, STROBE_RECORD_THREAD, 2}, payload);
}

void ThreadWriter::release() {
    if (chunk_) store_release(chunk_->state, STROBE_CHUNK_FULL);
    chunk_ = nullptr;
}

bool ThreadWriter::append(const strobe_record& record, std::span<const uint64_t> payload) {
    const auto bytes = static_cast<uint32_t>(sizeof record + payload.size_bytes());
    if (chunk_ && static_cast<uint32_t>(chunk_->progress) + bytes > STROBE_CHUNK_BYTES) release();
    if (!chunk_ && !claim()) {
        if (is_call(record)) __atomic_fetch_add(&segment_.header().lost_no_chunk, 1, __ATOMIC_RELAXED);
        return false;
    }
    const uint64_t progress = chunk_->progress;
    uint8_t* place = reinterpret_cast<uint8_t*>(chunk_) + static_cast<uint32_t>(progress);
    std::memcpy(place, &record, sizeof record);
    std::ranges::copy(payload, reinterpret_cast<uint64_t*>(place + sizeof record));
    store_release(chunk_->progress, progress + bytes + (is_call(record) ? uint64_t{1} << 32 : 0));
    last_ticks_ = record.ticks;
    return true;
}

bool ThreadWriter::claim() {
    strobe_header& header = segment_.header();
    for (uint32_t attempt = 0; attempt <= header.chunk_limit; ++attempt) {
        const uint64_t ticket = __atomic_fetch_add(&header.next_ticket, 1, __ATOMIC_RELAXED);
        strobe_chunk& chunk = segment_.chunk(static_cast<uint32_t>(ticket % header.chunk_limit));
        if (change_state(chunk, STROBE_CHUNK_FREE, STROBE_CHUNK_OWNED) ||
            change_state(chunk, STROBE_CHUNK_FULL, STROBE_CHUNK_OWNED)) {
            take(chunk, ticket);
            return true;
        }
    }
    return false;
}

void ThreadWriter::take(strobe_chunk& chunk, uint64_t ticket) {
    if (chunk.sequence != 0) {
        __atomic_fetch_add(&segment_.header().evicted_records, chunk.progress >> 32, __ATOMIC_RELAXED);
    }
    store_release<uint64_t>(chunk.sequence, 0);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    store_release<uint64_t>(chunk.progress, sizeof(strobe_chunk));
    chunk.thread_index = thread_index_;
    chunk.tid = tid_;
    chunk.lane = lane_;
    chunk.open_count = static_cast<uint32_t>(open_ticks_.size());
    chunk.first_ticks = last_ticks_;
    chunk.previous_sequence = last_sequence_;
    std::copy_n(open_ticks_.begin(), std::min<size_t>(open_ticks_.size(), STROBE_OPEN_FRAMES), chunk.open_ticks);
    last_sequence_ = ticket + 1;
    store_release<uint64_t>(chunk.sequence, last_sequence_);
    chunk_ = &chunk;
}

}  // namespace strobe
