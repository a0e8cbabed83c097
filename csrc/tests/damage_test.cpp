// Damaged files: any bit flipped, any length. The reader may refuse or give less; it must not crash, and must end.
#include <fcntl.h>

#include <random>

#include "check.h"
#include "segment/read/count.h"
#include "segment/read/loss.h"
#include "segment/read/totals.h"
#include "segment/write/writer.h"

using namespace strobe;
using namespace strobe::test;

namespace {

constexpr SyntheticProgram kProgram{.calls = 6'000, .threads = 3, .functions = 5};

struct Range {
    uint64_t offset;
    uint64_t size;
};

// Reads everything there is, each part bounded by the size of the file.
void read_all(const std::string& path) {
    const Segment segment(path);
    const uint64_t most = segment.header().chunk_count * uint64_t{STROBE_CHUNK_BYTES} / sizeof(strobe_record);
    Merge merge(segment, {});
    uint64_t given = 0;
    uint64_t sum = 0;
    for (Event event; merge.next(event); ++given) {
        for (const uint64_t word : event.values()) sum += word;
        sum += event.return_word().value_or(0) + event.duration_ticks() +
               static_cast<uint64_t>(segment.to_ns(event.ticks));
        if (given % 16 == 0) sum += merge.parent_number().value_or(0);
    }
    CHECK(given <= most);
    Filter filter;
    filter.min_duration_ticks = 1;
    CHECK(count(segment, filter) <= most);
    for (const FunctionCount& counted : count_by_function(segment, {})) sum += counted.enters;
    for_each_totals(segment, [&](const strobe_totals& totals) { sum += totals.calls; });
    for (const Thread& thread : segment.threads()) sum += thread.name.size();
    sum += read_loss(segment).evicted + static_cast<uint64_t>(segment.exit_state().code);
    asm volatile("" : : "r"(sum));
}

bool can_be_read(const std::string& path) {
    try {
        read_all(path);
        return true;
    } catch (const SegmentError&) {
        return false;
    }
}

void flip_bits(int fd, const std::vector<Range>& ranges, std::mt19937_64& random, int flips) {
    for (; flips > 0; --flips) {
        const Range range = ranges[random() % ranges.size()];
        const auto offset = static_cast<off_t>(range.offset + random() % range.size);
        uint8_t byte = 0;
        CHECK_EQUAL(pread(fd, &byte, 1, offset), 1);
        byte ^= static_cast<uint8_t>(1u << random() % 8);
        CHECK_EQUAL(pwrite(fd, &byte, 1, offset), 1);
    }
}

void flipped_bits_do_no_harm() {
    std::mt19937_64 random(20'261'121);
    int readable = 0;
    for (int round = 0; round < rounds(60, 15); ++round) {
        const SegmentPath path;
        write_synthetic(path, kProgram);
        const strobe_header header = Segment(path).header();
        const uint64_t chunks = header.chunk_offset;
        const std::vector<Range> ranges{{0, 400},
                                        {header.thread_offset, 3 * sizeof(strobe_thread)},
                                        {header.totals_offset, 16 * sizeof(strobe_totals)},
                                        {chunks, sizeof(strobe_chunk)},
                                        {chunks + STROBE_CHUNK_BYTES, sizeof(strobe_chunk)},
                                        {chunks, 6 * STROBE_CHUNK_BYTES}};
        const int fd = open(std::string(path).c_str(), O_RDWR | O_CLOEXEC);
        for (int damage = 0; damage < 10; ++damage) {
            flip_bits(fd, ranges, random, 1 + static_cast<int>(random() % 40));
            readable += can_be_read(path);
        }
        close(fd);
    }
    CHECK(readable > 0);
}

void a_cut_off_file_gives_what_is_left() {
    const SegmentPath path;
    write_synthetic(path, kProgram);
    const uint64_t chunks = Segment(path).header().chunk_offset;
    CHECK_EQUAL(truncate(std::string(path).c_str(), static_cast<off_t>(chunks + 2 * STROBE_CHUNK_BYTES + 100)), 0);
    const Segment half(path);
    CHECK(all_events(half).size() > 1'000);
    CHECK(all_events(half).size() < 12'000);
    CHECK_EQUAL(count(half, {}), all_events(half).size());
    for (const uint64_t size : {chunks, chunks - 1, uint64_t{70'000}, uint64_t{STROBE_HEADER_BYTES}}) {
        CHECK_EQUAL(truncate(std::string(path).c_str(), static_cast<off_t>(size)), 0);
        CHECK(can_be_read(path));
        CHECK_EQUAL(outline(Segment(path)), "");
    }
    for (const uint64_t size : {uint64_t{4'095}, uint64_t{1}, uint64_t{0}}) {
        CHECK_EQUAL(truncate(std::string(path).c_str(), static_cast<off_t>(size)), 0);
        CHECK(!can_be_read(path));
    }
}

void a_chunk_of_nonsense_is_passed_over() {
    const SegmentPath path;
    write_synthetic(path, kProgram);
    SegmentWriter writer(path);
    const uint64_t whole = all_events(Segment(path)).size();
    const uint64_t first = writer.chunk(0).progress >> 32;
    auto* bytes = reinterpret_cast<uint8_t*>(&writer.chunk(0));
    for (uint32_t i = sizeof(strobe_chunk); i < STROBE_CHUNK_BYTES; ++i) bytes[i] = 0xff;
    CHECK_EQUAL(all_events(Segment(path)).size(), whole - first);
    writer.chunk(0).progress = 17;  // less than its own header
    CHECK_EQUAL(all_events(Segment(path)).size(), whole - first);
    writer.chunk(0).progress = UINT64_MAX;
    CHECK_EQUAL(all_events(Segment(path)).size(), whole - first);
}

}  // namespace

int main() {
    flipped_bits_do_no_harm();
    a_cut_off_file_gives_what_is_left();
    a_chunk_of_nonsense_is_passed_over();
    return verdict();
}
