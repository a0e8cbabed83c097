// One segment used by many threads of the host at once, as sessions do: readers share the map and what is remembered of
// full chunks, writers share the file, a supply asks for pages.
#include <atomic>
#include <thread>

#include "check.h"
#include "segment/file/supply.h"
#include "segment/read/count.h"
#include "segment/read/loss.h"
#include "segment/read/totals.h"

using namespace strobe;
using namespace strobe::test;

namespace {

constexpr uint32_t kWriters = 2;
constexpr uint32_t kReaders = 3;
constexpr uint64_t kCalls = 30'000;

void write(SegmentWriter& segment, uint32_t number) {
    ThreadWriter writer(segment, number, 100 + number);
    for (uint64_t call = 1; call <= kCalls; ++call) {
        writer.enter(200 * call, 1 + number, 0, {});
        writer.exit(200 * call + 100, 1 + number, 0, 100, nullptr);
    }
    writer.release();
}

void read(const Segment& segment, uint32_t number, const std::atomic<uint32_t>& writing) {
    do {
        uint64_t last = 0;
        Merge merge(segment, {});
        for (Event event; merge.next(event);) {
            CHECK(event.number() > last);
            last = event.number();
        }
        Filter newer;
        newer.from_number = last;
        if (number == 0) count_by_function(segment, newer);
        if (number == 1) read_loss(segment);
        if (number == 2) CHECK(segment.threads().size() <= kWriters);
    } while (writing > 0);
}

// `max_events`: with few the ring goes round under the readers.
void many_threads_use_a_segment(uint64_t max_events) {
    const SegmentPath path;
    create_segment(path, max_events);
    SegmentWriter writer(path);
    const Segment segment(path);
    ChunkSupply supply(path);
    std::atomic<uint32_t> writing = kWriters;
    std::vector<std::thread> threads;
    for (uint32_t number = 0; number < kWriters; ++number) writer.add_thread(1, 100 + number, "writer", 1);
    for (uint32_t number = 0; number < kWriters; ++number) {
        threads.emplace_back([&writer, &writing, number] {
            write(writer, number);
            --writing;
        });
    }
    for (uint32_t number = 0; number < kReaders; ++number) {
        threads.emplace_back([&segment, &writing, number] { read(segment, number, writing); });
    }
    for (std::thread& thread : threads) thread.join();
    supply.stop();
    CHECK_EQUAL(count(segment, {}) + read_loss(segment).evicted, 2 * kWriters * kCalls);
}

}  // namespace

int main() {
    many_threads_use_a_segment(200'000);
    many_threads_use_a_segment(1'000);
    return verdict();
}
