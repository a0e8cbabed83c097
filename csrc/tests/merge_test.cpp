// The order of events over several threads and chunks, thread switches inside a chunk, skipping and decoding.
#include "segment/read/merge.h"

#include "check.h"
#include "segment/file/create.h"
#include "segment/write/writer.h"

using namespace strobe;
using namespace strobe::test;

namespace {

const uint64_t kNoReturn[1] = {0};

struct TwoThreads {
    explicit TwoThreads(const std::string& path) : segment((create_by_ticks(path, 1000), path)) {
        segment.add_thread(1, 100, "first", 10);
        segment.add_thread(1, 101, "second", 15);
    }
    SegmentWriter segment;
    ThreadWriter first{segment, 0, 100};
    ThreadWriter second{segment, 1, 101};
};

void threads_are_merged_by_time() {
    const SegmentPath path;
    TwoThreads writers(path);
    writers.first.enter(10, 1, 0, {});
    writers.first.enter(20, 2, 1, {});
    writers.first.exit(30, 2, 1, 10, nullptr);
    writers.second.enter(15, 3, 0, {});
    writers.second.enter(20, 4, 1, {});
    writers.second.exit(31, 4, 1, 11, nullptr);
    const Segment segment(path);
    CHECK_EQUAL(outline(segment), "10+1 15+3 20+2 20+4 30-2 31-4");
    Filter after;
    after.from_number = STROBE_EVENT_NUMBER(20, 1, 0) + 1;
    CHECK_EQUAL(outline(segment, after), "20+4 30-2 31-4");
    Filter until;
    until.to_number = STROBE_EVENT_NUMBER(20, 1, 0);
    CHECK_EQUAL(outline(segment, until), "10+1 15+3 20+2");
}

void a_chunk_may_change_its_thread() {
    const SegmentPath path;
    TwoThreads writers(path);
    writers.second.enter(12, 9, 0, {});
    writers.first.enter(10, 1, 0, {});
    writers.first.exit(11, 1, 0, 1, nullptr);
    const uint32_t third = writers.segment.add_thread(1, 102, "third", 14);
    writers.first.become(13, third, 102);
    writers.first.enter(14, 2, 0, {});
    const Segment segment(path);
    CHECK_EQUAL(outline(segment), "10+1 11-1 12+9 14+2");
    CHECK_EQUAL(all_events(segment).back().thread_index, third);
    CHECK_EQUAL(all_events(segment).back().tid, 102u);
    Filter only_third;
    only_third.threads = ThreadSet().set(third);
    CHECK_EQUAL(outline(segment, only_third), "14+2");
}

void arguments_and_results_are_decoded() {
    const SegmentPath path;
    TwoThreads writers(path);
    const uint64_t arguments[] = {7, UINT64_MAX, 0};
    const uint64_t returned = 42;
    writers.first.enter(10, 1, 5, arguments, STROBE_FLAG_SAMPLED);
    writers.first.exit(25, 1, 5, 15, &returned);
    writers.first.exit(26, 2, 4, 20, nullptr);
    const Segment segment(path);
    Merge merge(segment, {});
    Event event;
    CHECK(merge.next(event));
    CHECK_EQUAL(event.values().size(), 3u);
    CHECK_EQUAL(event.values()[1], UINT64_MAX);
    CHECK_EQUAL(event.flags, STROBE_FLAG_SAMPLED);
    CHECK_EQUAL(event.depth, 5);
    CHECK_EQUAL(event.number(), (10u << STROBE_LANE_BITS) + 1);
    CHECK(!event.return_word());
    CHECK(merge.next(event));
    CHECK_EQUAL(event.duration_ticks(), 15u);
    CHECK_EQUAL(event.return_word().value_or(0), 42u);
    CHECK_EQUAL(event.values().size(), 1u);
    CHECK(merge.next(event));
    CHECK(!event.return_word());
    CHECK(!merge.next(event));
    CHECK(!merge.next(event));
}

void unpublished_bytes_are_not_read() {
    const SegmentPath path;
    TwoThreads writers(path);
    writers.first.enter(10, 1, 0, kNoReturn);
    const Segment segment(path);
    const uint64_t before = writers.segment.chunk(0).progress;
    writers.first.enter(11, 2, 1, {});
    writers.segment.chunk(0).progress = before;
    CHECK_EQUAL(outline(segment), "10+1");
}

void skipping_is_the_same_as_reading() {
    const SegmentPath path;
    write_synthetic(path, {.calls = 12'000, .threads = 3, .functions = 5});
    const Segment segment(path);
    const std::vector<Event> events = all_events(segment);
    for (size_t i = 1; i < events.size(); ++i) CHECK(events[i - 1].number() < events[i].number());
    for (const size_t offset : {size_t{0}, size_t{1}, size_t{4'999}, size_t{23'999}}) {
        Merge merge(segment, {});
        CHECK_EQUAL(merge.skip(offset), offset);
        Event event;
        CHECK(merge.next(event));
        CHECK_EQUAL(event.number(), events[offset].number());
    }
    Merge merge(segment, {});
    CHECK_EQUAL(merge.skip(30'000), 24'000u);
}

void old_chunks_are_passed_over_once_known() {
    const SegmentPath path;
    write_synthetic(path, {.calls = 50'000, .threads = 2, .functions = 5});
    const Segment segment(path);
    const std::vector<Event> events = all_events(segment);
    Filter last;
    last.from_number = events[events.size() - 10].number();
    CHECK_EQUAL(all_events(segment, last).size(), 10u);
    const uint32_t shift = segment.header().number_shift;
    size_t known = 0;
    for (const ChunkSummary& chunk : segment.chunks()) known += chunk.last_ticks < last.earliest_ticks(shift);
    CHECK(known + 4 >= segment.used_chunks());
    CHECK(known < segment.used_chunks());
}

void a_merge_ends_where_its_list_of_chunks_was_made() {
    const SegmentPath path;
    TwoThreads writers(path);
    writers.first.enter(10, 1, 0, kNoReturn);
    const Segment segment(path);
    const std::vector<ChunkSummary> chunks = segment.chunks();
    Merge merge(segment, {}, chunks);
    writers.first.enter(11, 2, 1, {});
    writers.second.enter(12, 3, 0, {});
    Event event;
    CHECK(merge.next(event));
    CHECK_EQUAL(event.ticks, 10u);
    CHECK(!merge.next(event));
    CHECK_EQUAL(outline(segment), "10+1 11+2 12+3");
}

}  // namespace

int main() {
    threads_are_merged_by_time();
    a_chunk_may_change_its_thread();
    arguments_and_results_are_decoded();
    unpublished_bytes_are_not_read();
    skipping_is_the_same_as_reading();
    old_chunks_are_passed_over_once_known();
    a_merge_ends_where_its_list_of_chunks_was_made();
    return verdict();
}
