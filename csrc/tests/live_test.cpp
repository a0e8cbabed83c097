// Readers against threads that write and evict: no torn record is ever given, and every eviction is counted.
#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <span>
#include <thread>

#include "check.h"
#include "segment/file/clock.h"
#include "segment/file/create.h"
#include "segment/read/count.h"
#include "segment/read/loss.h"
#include "segment/write/writer.h"

using namespace strobe;
using namespace strobe::test;

namespace {

constexpr uint32_t kWriters = 3;
constexpr uint64_t kKey = 0x9e3779b97f4a7c15;
constexpr uint64_t kRefusals = 50;            // times that a reader must meet a chunk being taken over
constexpr uint64_t kMostEvents = 20'000'000;  // of one writer: ends a test that never meets any

// What the arguments of an event must be, from its other fields: a mix of two records cannot agree. Their number
// varies, so that records of an older and a newer content of a chunk begin at different places.
std::array<uint64_t, 6> sealed(uint64_t ticks, uint32_t thread_index, uint64_t serial) {
    return {serial, ticks * kKey + thread_index, serial ^ ticks, ~serial, ticks, serial * kKey};
}
size_t argument_count(uint64_t serial) { return 2 + serial * kKey % 5; }

bool is_whole(const Event& event) {
    const auto arguments = event.values();
    if (!event.is_enter() || arguments.size() < 2 || arguments.size() != argument_count(arguments[0])) return false;
    const auto expected = sealed(event.ticks, event.thread_index, arguments[0]);
    return std::equal(arguments.begin(), arguments.end(), expected.begin()) &&
           event.function == 1u + event.thread_index && event.tid == 100u + event.thread_index;
}

// Three threads that write into a ring of 16 chunks as fast as they can, until they are told to stop.
class Writers {
  public:
    Writers(const std::string& path, uint64_t start_ticks) : segment_(path), ticks_(kWriters) {
        for (uint32_t index = 0; index < kWriters; ++index) {
            segment_.add_thread(1, 100 + index, "writer", 1);
            threads_.emplace_back([this, index, start_ticks] { run(index, start_ticks); });
        }
    }
    ~Writers() { stop(); }

    void stop() {
        stop_ = true;
        for (std::thread& thread : threads_) thread.join();
        threads_.clear();
    }
    bool running() const { return running_ > 0; }
    // Ticks of all that one thread has written, by serial. Once stopped.
    const std::vector<uint64_t>& ticks(uint32_t index) const { return ticks_[index]; }

  private:
    void run(uint32_t index, uint64_t start_ticks) {
        ThreadWriter writer(segment_, index, 100 + index);
        const uint32_t clock = segment_.header().clock_kind;
        uint64_t last = 0;
        for (uint64_t serial = 0; serial < kMostEvents && !stop_; ++serial) {
            last = std::max(last + 1, clock_ticks(clock) - start_ticks);
            const auto arguments = sealed(last, index, serial);
            CHECK(writer.enter(last, 1 + index, 0, std::span(arguments).first(argument_count(serial))));
            ticks_[index].push_back(last);
        }
        writer.release();
        --running_;
    }

    SegmentWriter segment_;
    std::vector<std::vector<uint64_t>> ticks_;
    std::atomic<bool> stop_ = false;
    std::atomic<uint32_t> running_ = kWriters;
    std::vector<std::thread> threads_;
};

// Copies the oldest chunk, the next one to be taken over, again and again until the copy is refused. Every copy before
// must be whole. False where no writer takes it over any more.
bool oldest_is_whole_until_refused(const Segment& segment, const Writers& writers, ChunkBuffer& buffer) {
    const std::vector<ChunkSummary> chunks = segment.chunks();
    if (chunks.empty()) return false;
    const auto oldest = std::ranges::min_element(chunks, {}, &ChunkSummary::sequence);
    const Filter everything;
    for (ChunkView view; writers.running();) {
        if (!segment.copy_chunk(*oldest, buffer, view)) return true;
        RecordCursor cursor(view, everything);
        uint32_t events = 0;
        for (Event event; cursor.next(event); ++events) CHECK(is_whole(event));
        CHECK(events >= oldest->record_count);
    }
    return false;
}

// Every event must be whole, and in order: over all threads, and of its own.
void read_in_order(const Segment& segment) {
    std::map<uint32_t, uint64_t> last_serial;
    uint64_t last_number = 0;
    Merge merge(segment, {});
    for (Event event; merge.next(event);) {
        CHECK(is_whole(event));
        CHECK(event.number() > last_number);
        last_number = event.number();
        const uint64_t serial = event.values()[0];
        const auto [last, is_first] = last_serial.try_emplace(event.thread_index, serial);
        CHECK(is_first || serial > last->second);
        last->second = serial;
    }
}

void check_what_is_left(const Segment& segment, const Writers& writers) {
    std::map<uint32_t, std::vector<uint64_t>> left;
    for (const Event& event : all_events(segment)) left[event.thread_index].push_back(event.ticks);
    uint64_t written = 0, present = 0, last_evicted = 0;
    for (uint32_t index = 0; index < kWriters; ++index) {
        const std::vector<uint64_t>& all = writers.ticks(index);
        const size_t gone = all.size() - left[index].size();
        CHECK(std::equal(left[index].begin(), left[index].end(), all.begin() + static_cast<ptrdiff_t>(gone)));
        if (gone > 0) last_evicted = std::max(last_evicted, all[gone - 1]);
        written += all.size();
        present += left[index].size();
    }
    const Loss loss = read_loss(segment);
    CHECK_EQUAL(loss.evicted, written - present);
    CHECK_EQUAL(loss.evicted_until_ticks.value_or(0), last_evicted);
    CHECK_EQUAL(count(segment, {}), present);
}

void readers_meet_writers() {
    const SegmentPath path;
    create_by_ticks(path, 1'000);
    const Segment segment(path);
    Writers writers(path, segment.header().start_ticks);
    ChunkBuffer buffer;
    uint64_t refusals = 0;
    while (writers.running() && refusals < kRefusals) {
        for (int i = 0; i < 10; ++i) refusals += oldest_is_whole_until_refused(segment, writers, buffer);
        read_in_order(segment);
        for (const FunctionCount& counted : count_by_function(segment, {})) CHECK(counted.function <= kWriters);
    }
    writers.stop();
    CHECK(refusals >= kRefusals);
    check_what_is_left(segment, writers);
}

void a_chunk_that_is_kept_is_passed_over() {
    const SegmentPath path;
    create_by_ticks(path, 1'000);
    SegmentWriter writer(path);
    writer.add_thread(1, 100, "idle", 1);
    writer.add_thread(1, 101, "busy", 2);
    ThreadWriter idle(writer, 0, 100);
    ThreadWriter busy(writer, 1, 101);
    idle.enter(1, 7, 0, {});
    for (uint64_t ticks = 2; ticks < 200'000; ++ticks) busy.enter(ticks, 8, 0, {});
    const Segment segment(path);
    Filter of_idle;
    of_idle.threads = ThreadSet().set(0);
    CHECK_EQUAL(outline(segment, of_idle), "1+7");
    CHECK_EQUAL(count(segment, {}) + read_loss(segment).evicted, 199'999u);
}

void no_room_is_counted() {
    const SegmentPath path;
    create_by_ticks(path, 1'000);
    SegmentWriter writer(path);
    std::vector<ThreadWriter> threads;
    const uint32_t chunks = writer.header().chunk_count;
    for (uint32_t i = 0; i <= chunks; ++i) threads.emplace_back(writer, writer.add_thread(1, 100 + i, "t", i), 100 + i);
    for (uint32_t i = 0; i <= chunks; ++i) CHECK_EQUAL(threads[i].enter(i + 1, 1, 0, {}), i < chunks);
    CHECK_EQUAL(read_loss(Segment(path)).no_chunk, 1u);
    CHECK_EQUAL(count(Segment(path), {}), uint64_t{chunks});
}

}  // namespace

int main() {
    readers_meet_writers();
    a_chunk_that_is_kept_is_passed_over();
    no_room_is_counted();
    return verdict();
}
