// What conditions and watches calculate with: variables, loops that are left, scans, what was kept at the entry.
#include <random>

extern "C" {
#include "recipe/machine.h"
}
#include "recipe_memory.h"

using namespace strobe::test;

namespace {

strobe_recipe_step set(std::uint32_t variable) { return step(STROBE_RECIPE_SET, variable); }
strobe_recipe_step get(std::uint32_t variable) { return step(STROBE_RECIPE_GET, variable); }
const strobe_recipe_step kLeave = step(STROBE_RECIPE_LEAVE);

strobe_recipe_step quiet(strobe_recipe_step loop) {
    loop.zero = 1;
    return loop;
}

// The numbers that a run notes, each with its status.
std::string noted(Memory& memory, std::vector<strobe_recipe_step> steps, const strobe_moment* moment = nullptr) {
    static recipe_run machine;
    std::vector<std::uint8_t> bytes(256);
    std::vector<strobe_recipe_item> items(16);
    strobe_recipe_output output{bytes.data(), 256, 0, items.data(), 16, 0, 0};
    steps.push_back(kEnd);
    const std::uint32_t status = strobe_recipe_run_on(&machine, steps.data(), static_cast<std::uint32_t>(steps.size()),
                                                      0, moment, read_memory, &memory, &output);
    std::ostringstream text;
    if (status != STROBE_RECIPE_OK) text << "status " << status << ' ';
    for (std::uint32_t index = 0; index < output.item_count; index++) {
        std::uint64_t number = 0;
        std::memcpy(&number, &bytes[items[index].offset], items[index].size);
        text << items[index].status << ':' << std::hex << number << std::dec << ' ';
    }
    return text.str();
}

void variables_keep_numbers_and_their_status() {
    Memory memory;
    CHECK_EQUAL(noted(memory, {constant(7), set(3), get(3), get(3), calc(STROBE_RECIPE_PLUS), kNote, kDrop}), "0:e ");
    CHECK_EQUAL(noted(memory, {base(0x4000), number(8), set(0), base(0x1000), get(0), kNote, kDrop}), "2:0 ");
    CHECK_EQUAL(noted(memory, {get(0), kNote, kDrop}), "status 6 ");  // it has no value
    CHECK_EQUAL(noted(memory, {constant(1), set(STROBE_RECIPE_MAX_VARIABLES)}), "status 6 ");
}

void loops_are_left() {
    Memory memory;
    const auto until = [&](std::int64_t end) {
        return noted(memory,
                     {base(0x1000), constant(9), step(STROBE_RECIPE_REPEAT_MANY, 100), step(STROBE_RECIPE_TURN), set(0),
                      get(0), constant(end), calc(STROBE_RECIPE_EQUAL), kLeave, kNext, get(0), kNote, kDrop});
    };
    CHECK_EQUAL(until(4), "0:4 ");
    CHECK_EQUAL(until(0), "0:0 ");
    CHECK_EQUAL(until(20), "0:8 ");
    CHECK_EQUAL(noted(memory, {constant(1), kLeave}), "status 6 ");
    CHECK_EQUAL(noted(memory, {constant(1), kDrop, repeat(3, 0), step(STROBE_RECIPE_SAVE), constant(1), kLeave, kNext}),
                "status 6 ");  // with a location kept
    // one that is bad leaves nothing
    CHECK_EQUAL(noted(memory, {base(0x4000), repeat(3, 0), step(STROBE_RECIPE_TURN), set(1), number(8), kLeave, kNext,
                               get(1), kNote, kDrop}),
                "0:2 ");
}

void quiet_walks_are_known_by_their_place() {
    Memory memory;
    memory.put(0x1010, 0x1020);  // 1010 -> 1020 -> 1030 -> null
    memory.put(0x1020, 0x1030);
    const auto walk = [&](std::int64_t first, std::uint32_t most) {
        return noted(memory, {constant(0),
                              set(0),
                              constant(9),
                              constant(0),
                              base(0),
                              constant(first),
                              step(STROBE_RECIPE_GO),
                              quiet(chain(most, 0)),
                              get(0),
                              constant(1),
                              calc(STROBE_RECIPE_PLUS),
                              set(0),
                              kNext,
                              step(STROBE_RECIPE_LOCATION),
                              constant(0),
                              calc(STROBE_RECIPE_BIT_AND),
                              get(0),
                              calc(STROBE_RECIPE_PLUS),
                              kNote,
                              kDrop});
    };
    CHECK_EQUAL(walk(0x1010, 9), "0:3 ");
    CHECK_EQUAL(walk(0x1030, 9), "0:1 ");
    CHECK_EQUAL(walk(0, 9), "0:0 ");       // no nodes
    CHECK_EQUAL(walk(0x1010, 2), "3:0 ");  // there are more: FULL
    CHECK_EQUAL(walk(0x4000, 9), "2:0 ");
    memory.put(0x1030, 0x7777);
    CHECK_EQUAL(walk(0x1010, 9), "2:0 ");
}

struct Scan {
    std::uint64_t count;
    std::uint64_t compared;
    std::int64_t how;
    std::uint64_t mask;
    std::uint32_t stride;
    std::int64_t offset;
    int width;
};

std::string scanned(Memory& memory, const Scan& scan, const strobe_moment* moment) {
    const auto data = [](std::uint64_t word) { return step(STROBE_RECIPE_DATA, 0, static_cast<std::int64_t>(word)); };
    return noted(memory,
                 {constant(static_cast<std::int64_t>(scan.count)), constant(static_cast<std::int64_t>(scan.compared)),
                  base(kStart), step(STROBE_RECIPE_SCAN, scan.stride, scan.offset, scan.width),
                  data(static_cast<std::uint64_t>(scan.how)), data(scan.mask), kNote, kDrop},
                 moment);
}

// Number by number, as C compares.
std::string expected(const Memory& memory, const Scan& scan) {
    std::uint64_t held = 0, index = 0;
    for (; index < scan.count; index++) {
        const std::uint64_t at = index * scan.stride + static_cast<std::uint64_t>(scan.offset);
        if (at + static_cast<std::uint64_t>(scan.width) > memory.bytes.size()) return "2:0 ";
        std::uint64_t number = 0;
        std::memcpy(&number, &memory.bytes[at], static_cast<std::size_t>(scan.width));
        if (scan.how & STROBE_RECIPE_SCAN_SIGNED) {
            const int unused = 64 - 8 * scan.width;
            number = static_cast<std::uint64_t>(static_cast<std::int64_t>(number << unused) >> unused);
        }
        number &= scan.mask;
        const bool is_less = scan.how & STROBE_RECIPE_SCAN_SIGNED_ORDER
                                 ? static_cast<std::int64_t>(number) < static_cast<std::int64_t>(scan.compared)
                                 : number < scan.compared;
        const int way = number == scan.compared ? STROBE_RECIPE_SCAN_EQUAL
                        : is_less               ? STROBE_RECIPE_SCAN_LESS
                                                : STROBE_RECIPE_SCAN_MORE;
        if (!(scan.how & way)) continue;
        held++;
        if (!(scan.how & STROBE_RECIPE_SCAN_COUNTS)) break;
    }
    std::ostringstream text;
    text << "0:" << std::hex << (scan.how & STROBE_RECIPE_SCAN_COUNTS ? held : index) << ' ';
    return text.str();
}

std::uint32_t gather(void* context, std::uint64_t address, std::uint32_t stride, std::uint32_t width,
                     std::uint32_t count, std::uint64_t* into) {
    std::uint32_t done = 0;
    for (; done < count; done++, address += stride) {
        into[done] = 0;
        if (read_memory(context, address, &into[done], width) != width) break;
    }
    return done;
}

void scans_find_what_a_loop_finds() {
    std::mt19937_64 random(5);
    Memory memory;
    strobe_moment moment{};
    moment.gather = gather;
    for (int round = 0; round < 20000; round++) {
        for (int word = 0; word < 32; word++)
            memory.put(kStart + 8 * static_cast<std::uint64_t>(word), random() % 3 ? random() % 5 : random());
        Scan scan{};
        scan.width = 1 << random() % 4;
        scan.stride = static_cast<std::uint32_t>(1 + random() % 64);
        scan.offset = static_cast<std::int64_t>(random() % 9);
        scan.count = random() % 4 ? random() % (240 / scan.stride + 1) : random() % 300;
        scan.compared = random() % 3 ? random() % 5 : random() % 2 ? ~0ULL - random() % 5 : random();
        scan.how = static_cast<std::int64_t>(random() % 64);
        scan.mask = random() % 2 ? ~0ULL : random() % 32;
        const std::string wanted = expected(memory, scan);
        CHECK_EQUAL(scanned(memory, scan, nullptr), wanted);
        CHECK_EQUAL(scanned(memory, scan, &moment), wanted);
    }
    CHECK_EQUAL(noted(memory, {constant(0), constant(0), base(0x4000), step(STROBE_RECIPE_SCAN, 4, 0, 4),
                               step(STROBE_RECIPE_DATA), step(STROBE_RECIPE_DATA), kNote, kDrop}),
                "0:0 ");  // of no elements nothing is read
    CHECK_EQUAL(noted(memory, {constant(1), constant(0), base(0x1000), step(STROBE_RECIPE_SCAN, 4, 0, 3),
                               step(STROBE_RECIPE_DATA), step(STROBE_RECIPE_DATA), kNote, kDrop}),
                "status 6 ");
    CHECK_EQUAL(
        noted(memory, {constant(1), constant(0), base(0x1000), step(STROBE_RECIPE_SCAN, 4, 0, 4), kNote, kDrop}),
        "status 6 ");
}

void what_was_kept_is_found_by_its_number() {
    Memory memory;
    const std::uint64_t id = 9;
    // of block 9: a good number, one that could not be read, another good one
    const std::uint64_t blocks[] = {3 | 4ULL << STROBE_EXTRA_ID_SHIFT,
                                    1,
                                    8,
                                    8 | id << STROBE_EXTRA_ID_SHIFT,
                                    3,
                                    8,
                                    2 << STROBE_ITEM_STATUS_SHIFT,
                                    0x7777,
                                    8,
                                    0x11,
                                    0x22};
    strobe_moment moment{};
    moment.before = blocks;
    moment.before_words = 11;
    const auto before = [&](std::uint32_t block, std::int64_t item) {
        return noted(memory, {step(STROBE_RECIPE_BEFORE, block, item), kNote, kDrop}, &moment);
    };
    CHECK_EQUAL(before(9, 0), "0:11 ");
    CHECK_EQUAL(before(9, 1), "2:0 ");
    CHECK_EQUAL(before(9, 2), "0:22 ");
    CHECK_EQUAL(before(9, 3), "5:0 ");
    CHECK_EQUAL(before(8, 0), "5:0 ");
    CHECK_EQUAL(before(4, 0), "5:0 ");  // its bytes found no room
    moment.before_words = 5;
    CHECK_EQUAL(before(9, 0), "5:0 ");
    CHECK_EQUAL(noted(memory, {step(STROBE_RECIPE_BEFORE, 9, 0), kNote, kDrop}), "5:0 ");
    const std::uint64_t facts[] = {5};
    moment.facts = facts;
    moment.fact_count = 1;
    CHECK_EQUAL(noted(memory, {step(STROBE_RECIPE_FACT, 0), kNote, kDrop}, &moment), "0:5 ");
    CHECK_EQUAL(noted(memory, {step(STROBE_RECIPE_FACT, 1), kNote, kDrop}, &moment), "5:0 ");
}

}  // namespace

int main() {
    variables_keep_numbers_and_their_status();
    loops_are_left();
    quiet_walks_are_known_by_their_place();
    scans_find_what_a_loop_finds();
    what_was_kept_is_found_by_its_number();
    return strobe::test::verdict();
}
