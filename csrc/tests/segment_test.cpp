// Creating a segment, its clock and times, threads, totals, and counting.
#include "check.h"
#include "segment/file/clock.h"
#include "segment/file/create.h"
#include "segment/read/count.h"
#include "segment/read/loss.h"
#include "segment/read/totals.h"
#include "segment/write/writer.h"

using namespace strobe;
using namespace strobe::test;

namespace {

void a_new_segment_is_empty_and_sparse() {
    const SegmentPath path;
    create_segment(path, 1'000'000);
    const Segment segment(path);
    CHECK(segment.header().chunk_count * uint64_t{STROBE_CHUNK_BYTES} >= 32'000'000);
    CHECK_EQUAL(segment.threads().size(), 0u);
    CHECK_EQUAL(count(segment, {}), 0u);
    CHECK_EQUAL(outline(segment), "");
    CHECK_EQUAL(read_loss(segment).evicted, 0u);
    const std::string command = "test $(stat -c %b '" + std::string(path) + "') -le 6144";
    CHECK_EQUAL(std::system(command.c_str()), 0);
}

void a_segment_is_made_once() {
    const SegmentPath path;
    create_segment(path, 1000);
    try {
        create_segment(path, 1000);
        CHECK(!"a second segment was made in the same place");
    } catch (const std::system_error& error) {
        CHECK_EQUAL(error.code().value(), EEXIST);
    }
}

void capacity_follows_the_number_of_events() {
    CHECK_EQUAL(chunk_count_for(1), 16u);
    CHECK(uint64_t{chunk_count_for(4'000'000)} * ((STROBE_CHUNK_BYTES - sizeof(strobe_chunk)) / 32) >= 4'000'000);
    CHECK(chunk_count_for(UINT64_MAX) > 0);
}

constexpr int64_t kYearNs = 366ll * 24 * 3600 * 1'000'000'000;

void times_are_inverses() {
    const SegmentPath path;
    create_segment(path, 1000);
    const Segment segment(path);
    for (int64_t ns = 0; ns < 100 * kYearNs; ns = ns * 3 + 1) {
        const uint64_t first = segment.ticks_from_ns(ns);
        CHECK(segment.to_ns(first) >= ns);
        CHECK(first == 0 || segment.to_ns(first - 1) < ns);
        const uint64_t last = segment.ticks_until_ns(ns);
        CHECK(segment.to_ns(last) <= ns);
        CHECK(segment.to_ns(last + 1) > ns);
    }
    CHECK_EQUAL(segment.ticks_from_ns(INT64_MIN), 0u);
    CHECK_EQUAL(segment.ticks_until_ns(-1), 0u);
    CHECK_EQUAL(segment.ticks_until_ns(INT64_MAX), UINT64_MAX);
    CHECK(segment.duration_ns(UINT64_MAX) > 100 * kYearNs);
    // whole nanoseconds, where a product of doubles has lost some
    const uint64_t year = segment.duration_from_ns(kYearNs);
    for (uint64_t ticks = year; ticks < year + 1000; ++ticks) {
        const int64_t ns = segment.duration_ns(ticks);
        const uint64_t first = segment.duration_from_ns(ns);
        CHECK(first <= ticks && segment.duration_ns(first) == ns && segment.duration_ns(first - 1) < ns);
    }
}

void a_year_has_room_in_the_numbers() {
    const SegmentPath path;
    create_segment(path, 1000);
    const Segment segment(path);
    const uint32_t shift = segment.header().number_shift;
    const uint64_t year = segment.duration_from_ns(kYearNs);
    CHECK(STROBE_EVENT_NUMBER(year, STROBE_LANE_HOST, shift) < uint64_t{1} << 63);
    CHECK(segment.duration_ns(uint64_t{1} << shift) <= 8);  // else quick calls would have to wait for their moments
    CHECK_EQUAL(segment.moment(segment.ticks_of(STROBE_EVENT_NUMBER(year, 7, shift))), segment.moment(year));
}

void the_clock_agrees_with_the_systems() {
    const SegmentPath path;
    create_segment(path, 1000);
    const Segment segment(path);
    const uint64_t ticks_before = segment.now_ticks();
    const ClockPair now = read_clock_pair(segment.header().clock_kind);
    const uint64_t ticks_after = segment.now_ticks();
    const auto elapsed_ns = static_cast<int64_t>(now.monotonic_ns - segment.header().start_monotonic_ns);
    // Both readings of the clock have some uncertainty, the rate a few millionths.
    CHECK(segment.to_ns(ticks_before) <= elapsed_ns + 100'000);
    CHECK(segment.to_ns(ticks_after) >= elapsed_ns - 100'000);
}

void a_synthetic_program_is_counted() {
    const SegmentPath path;
    write_synthetic(path, {.calls = 10'001, .threads = 3, .functions = 7});
    const Segment segment(path);
    CHECK_EQUAL(count(segment, {}), 20'002u);
    CHECK_EQUAL(all_events(segment).size(), 20'002u);
    CHECK_EQUAL(segment.threads().size(), 3u);
    CHECK_EQUAL(segment.threads().back().name, "worker-2");
    std::vector<uint64_t> calls(8);
    for_each_totals(segment, [&](const strobe_totals& totals) { calls[totals.function] += totals.calls; });
    uint64_t sum = 0;
    for (const FunctionCount& counted : count_by_function(segment, {})) {
        CHECK_EQUAL(counted.enters, calls[counted.function]);
        CHECK_EQUAL(counted.exits, calls[counted.function]);
        sum += counted.enters;
    }
    CHECK_EQUAL(sum, 10'001u);
}

void counting_agrees_with_reading() {
    const SegmentPath path;
    write_synthetic(path, {.calls = 9'000, .threads = 2, .functions = 5});
    const Segment segment(path);
    const std::vector<Event> events = all_events(segment);
    std::vector<Filter> filters(7);
    filters[0].functions = FunctionSet(std::vector<uint32_t>{2, 4});
    filters[1].threads = ThreadSet().set(1);
    filters[2].kinds = kind_bit(STROBE_RECORD_EXIT);
    filters[3].min_duration_ticks = 300;
    filters[4].from_ticks = events[5'000].ticks;
    filters[4].to_ticks = events[6'000].ticks;
    filters[5].from_number = events[7'000].number();
    filters[6].to_number = events[999].number();
    for (const Filter& filter : filters) CHECK_EQUAL(count(segment, filter), all_events(segment, filter).size());
    CHECK_EQUAL(count(segment, filters[1]), 9'000u);
    CHECK_EQUAL(count(segment, filters[4]), 1'001u);
    CHECK_EQUAL(count(segment, filters[5]), events.size() - 7'000);
    CHECK_EQUAL(count(segment, filters[6]), 1'000u);
}

}  // namespace

int main() {
    a_new_segment_is_empty_and_sparse();
    a_segment_is_made_once();
    capacity_follows_the_number_of_events();
    times_are_inverses();
    a_year_has_room_in_the_numbers();
    the_clock_agrees_with_the_systems();
    a_synthetic_program_is_counted();
    counting_agrees_with_reading();
    return verdict();
}
