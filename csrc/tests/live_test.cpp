// Readers against threads that write and evict: no torn record is ever given, and every eviction is counted.
#include <array>
#include <atomic>
#include <map>
#include <thread>

#include "check.h"
#include "segment/clock.h"
#include "segment/count.h"
#include "segment/create.h"
#include "segment/loss.h"
#include "segment/writer.h"

using namespace strobe;
using namespace strobe::test;

namespace {

constexpr uint32_t kWriters = 3;
constexpr uint64_t kEventsEach = 200'000;  // of 40 bytes: about 370 chunks in all, the ring has 16
constexpr uint64_t kKey = 0x9e3779b97f4a7c15;

// What the arguments of an event must be, from its other fields: a mix of two records cannot agree.
std::array<uint64_t, 3> sealed(uint64_t ticks, uint32_t thread_index, uint64_t serial) {
    return {serial, ticks * kKey + thread_index, serial ^ ticks};
}

void write_events(SegmentWriter& segment, uint64_t start_ticks) {
    const uint32_t index = segment.add_thread(1, 0, "writer", 1);
    const uint32_t tid = 100 + index;
    segment.thread(index).tid = tid;
    ThreadWriter writer(segment, index, tid);
    uint64_t last = 0;
    for (uint64_t serial = 0; serial < kEventsEach; ++serial) {
        last = std::max(last + 1, clock_ticks(segment.header().clock_kind) - start_ticks);
        CHECK(writer.enter(last, 1 + index, 0, sealed(last, index, serial)));
    }
    writer.release();
}

struct Snapshot {
    uint64_t events = 0;
    std::map<uint32_t, uint64_t> last_serial;
};

// Every event must be whole, in order over all threads, and in order of its thread.
Snapshot read_and_check(const Segment& segment) {
    Snapshot snapshot;
    Merge merge(segment, {});
    uint64_t last_number = 0;
    for (Event event; merge.next(event); ++snapshot.events) {
        const auto arguments = event.arguments();
        CHECK_EQUAL(arguments.size(), 3u);
        const auto expected = sealed(event.ticks, event.thread_index, arguments[0]);
        CHECK(std::equal(arguments.begin(), arguments.end(), expected.begin()));
        CHECK_EQUAL(event.function, 1u + event.thread_index);
        CHECK_EQUAL(event.tid, 100u + event.thread_index);
        CHECK(event.number() > last_number);
        last_number = event.number();
        const auto [last, first_time] = snapshot.last_serial.try_emplace(event.thread_index, arguments[0]);
        CHECK(first_time || arguments[0] > last->second);
        last->second = arguments[0];
    }
    return snapshot;
}

void check_what_is_left(const Segment& segment) {
    const Snapshot left = read_and_check(segment);
    const Loss loss = read_loss(segment);
    CHECK(loss.evicted > 0);
    CHECK_EQUAL(left.events + loss.evicted, kWriters * kEventsEach);
    CHECK_EQUAL(count(segment, {}), left.events);
    for (const auto& [thread, serial] : left.last_serial) CHECK_EQUAL(serial, kEventsEach - 1);

    // After the end of what was evicted, every thread's serials run on without a gap.
    Filter complete;
    complete.from_ticks = loss.evicted_until_ticks.value_or(UINT64_MAX) + 1;
    std::map<uint32_t, uint64_t> next;
    Merge merge(segment, complete);
    for (Event event; merge.next(event);) {
        const uint64_t serial = event.arguments()[0];
        CHECK_EQUAL(next.try_emplace(event.thread_index, serial).first->second, serial);
        next[event.thread_index] = serial + 1;
    }
    CHECK(!next.empty());
    // And it is the end: something was evicted just before, so of some thread the earlier record is missing.
    Filter gone;
    gone.to_ticks = complete.from_ticks - 1;
    CHECK(count(segment, gone) < left.events);
}

void readers_meet_writers() {
    const SegmentPath path;
    create_segment(path, 1'000);
    const Segment segment(path);
    SegmentWriter writer(path);
    std::atomic<uint32_t> running = kWriters;
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < kWriters; ++i) {
        threads.emplace_back([&] {
            write_events(writer, segment.header().start_ticks);
            --running;
        });
    }
    uint64_t snapshots = 0;
    for (; running > 0; ++snapshots) {
        read_and_check(segment);
        for (const FunctionCount& counted : count_by_function(segment, {})) CHECK(counted.function <= kWriters);
        CHECK(read_loss(segment).evicted <= kWriters * kEventsEach);
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(snapshots > 0);
    check_what_is_left(segment);
}

void a_chunk_that_is_kept_is_passed_over() {
    const SegmentPath path;
    create_segment(path, 1'000);
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
    create_segment(path, 1'000);
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
