// The interpreter of recipes step by step, and over recipes that make no sense.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <random>
#include <utility>

extern "C" {
#include "recipe/machine.h"
}
#include "recipe_memory.h"

using namespace strobe::test;

namespace {

void places_are_reached() {
    Memory memory;
    memory.put(0x1010, 0x1020);
    memory.put(0x1020, 0x0807060504030201);
    CHECK_EQUAL(run(memory, {base(0x1010), bytes(2), kEnd}).items, "1010 0 1: 20 10;");
    CHECK_EQUAL(run(memory, {base(0x1000), add(0x10), follow(), bytes(2, 3), kEnd}).items, "1023 0 3: 4 5;");
    CHECK_EQUAL(run(memory, {base(0x1000), follow(0x10), bytes(1), kEnd}).items, "1020 0 2: 1;");
    CHECK_EQUAL(run(memory, {base(0x1010), step(STROBE_RECIPE_SAVE), follow(), bytes(1), step(STROBE_RECIPE_RESTORE),
                             bytes(1), kEnd})
                    .items,
                "1020 0 3: 1;1010 0 5: 20;");
}

void bad_places_stay_bad_until_restored() {
    Memory memory;
    memory.put(0x1010, 0x5000);
    CHECK_EQUAL(run(memory, {base(0x1000), follow(), add(4), bytes(4), follow(), bytes(1), kEnd}).items,
                "1000 1 1:;1000 1 1:;");  // null
    CHECK_EQUAL(run(memory, {base(0x1010), step(STROBE_RECIPE_SAVE), follow(), follow(), bytes(4),
                             step(STROBE_RECIPE_RESTORE), bytes(1), kEnd})
                    .items,
                "5000 2 3:;1010 0 6: 0;");
    CHECK_EQUAL(run(memory, {base(0x10fd), bytes(4), bytes(3), kEnd}).items, "10fd 2 1:;10fd 0 2: 0 0 0;");
    CHECK_EQUAL(run(memory, {base(-1), bytes(4), kEnd}).items, "ffffffffffffffff 2 1:;");
}

void texts_end_at_zero_or_are_cut() {
    Memory memory;
    memory.put(0x1000, "abc");
    memory.put(0x10fe, "xy");
    const auto text = [](std::uint32_t most, int width) { return step(STROBE_RECIPE_TEXT, most, 0, width); };
    CHECK_EQUAL(run(memory, {base(0x1000), text(10, 1), kEnd}).items, "1000 0 1: 61 62 63;");
    CHECK_EQUAL(run(memory, {base(0x1000), text(3, 1), kEnd}).items, "1000 4 1: 61 62 63;");
    CHECK_EQUAL(run(memory, {base(0x10fe), text(10, 1), kEnd}).items, "10fe 4 1: 78 79;");  // where memory ends
    CHECK_EQUAL(run(memory, {base(0x1000), text(10, 2), kEnd}).items, "1000 0 1: 61 62 63 0;");
    CHECK_EQUAL(run(memory, {base(0x1000), text(10, 4), kEnd}).items, "1000 0 1: 61 62 63 0;");
    CHECK_EQUAL(run(memory, {base(0x4000), text(10, 1), kEnd}).items, "4000 2 1:;");
    CHECK_EQUAL(run(memory, {base(0x1000), text(10, 1), bytes(1), kEnd}, 2).items, "1000 4 1: 61 62;1000 3 2:;");
}

void loops_and_conditions() {
    Memory memory;
    memory.put(0x1000, 0x0302);  // a count of 2, then 3
    CHECK_EQUAL(run(memory, {base(0x1000), repeat(2, 1), bytes(1), kNext, bytes(1), kEnd}).items,
                "1000 0 2: 2;1001 0 2: 3;1000 0 4: 2;");
    CHECK_EQUAL(run(memory, {base(0x1000), repeat(0, 1), bytes(1), kNext, kEnd}).items, "");
    CHECK_EQUAL(run(memory, {base(0x1000), repeat(2, 4), repeat(2, 1), bytes(1), kNext, kNext, kEnd}).items,
                "1000 0 3: 2;1001 0 3: 3;1004 0 3: 0;1005 0 3: 0;");
    const auto many = [](std::uint32_t most) { return step(STROBE_RECIPE_REPEAT_MANY, most, 1); };
    CHECK_EQUAL(run(memory, {base(0x1000), number(1), kNote, many(9), bytes(1), kNext, kEnd}).items,
                "0 0 2: 2 0 0 0 0 0 0 0;1000 0 4: 2;1001 0 4: 3;");
    CHECK_EQUAL(run(memory, {base(0x1000), number(2), many(1), bytes(1), kNext, kEnd}).items, "1000 0 3: 2;");
    CHECK_EQUAL(run(memory, {base(0x1000), constant(2), step(STROBE_RECIPE_READ_MANY, 9, 2), kDrop, kEnd}).items,
                "1000 0 2: 2 3 0 0;");
    const auto pairs = [](int width) { return step(STROBE_RECIPE_READ_MANY, 9, 2, width); };
    CHECK_EQUAL(run(memory, {base(0x1000), constant(3), pairs(0), kDrop, kEnd}, 5).items, "1000 3 2:;");
    CHECK_EQUAL(run(memory, {base(0x1000), constant(3), pairs(1), kDrop, kEnd}, 5).items, "1000 4 2: 2 3 0 0;");
    CHECK_EQUAL(run(memory, {base(0x1000), constant(2), pairs(1), kDrop, kEnd}, 4).items, "1000 0 2: 2 3 0 0;");
    CHECK_EQUAL(run(memory, {base(0x1000), constant(2), pairs(1), kDrop, kEnd}, 1).items, "1000 3 2:;");
    CHECK_EQUAL(run(memory, {base(0x4000), constant(3), pairs(1), kDrop, kEnd}, 5).items, "4000 2 2:;");
    const auto when = [](std::uint32_t left_out) { return step(STROBE_RECIPE_WHEN, left_out); };
    CHECK_EQUAL(run(memory, {base(0x1000), number(1), when(1), bytes(1), number(1, 4), when(2), bytes(1), bytes(1),
                             bytes(2), kEnd})
                    .items,
                "1000 0 3: 2;1000 0 8: 2 3;");
    CHECK_EQUAL(
        run(memory, {base(0x4000), number(1), when(1), bytes(1), constant(1), many(2), bytes(1), kNext, kEnd}).items,
        "4000 2 6:;");  // a bad number leaves out; a bad location is an item
}

// What operations give, as an expression of C would.
void numbers_are_calculated() {
    Memory memory;
    memory.put(0x1000, 0x80);
    const auto result = [&](std::int64_t left, std::int64_t right, int operation) {
        return run(memory, {constant(left), constant(right), calc(operation), kNote, kDrop, kEnd}).items;
    };
    CHECK_EQUAL(result(7, 5, STROBE_RECIPE_PLUS), "0 0 3: c 0 0 0 0 0 0 0;");
    CHECK_EQUAL(result(7, 5, STROBE_RECIPE_MINUS), "0 0 3: 2 0 0 0 0 0 0 0;");
    CHECK_EQUAL(result(7, 5, STROBE_RECIPE_TIMES), "0 0 3: 23 0 0 0 0 0 0 0;");
    CHECK_EQUAL(result(17, 5, STROBE_RECIPE_DIVIDED), "0 0 3: 3 0 0 0 0 0 0 0;");
    CHECK_EQUAL(result(17, 5, STROBE_RECIPE_MODULO), "0 0 3: 2 0 0 0 0 0 0 0;");
    CHECK_EQUAL(result(6, 3, STROBE_RECIPE_BIT_AND), "0 0 3: 2 0 0 0 0 0 0 0;");
    CHECK_EQUAL(result(6, 3, STROBE_RECIPE_BIT_OR), "0 0 3: 7 0 0 0 0 0 0 0;");
    CHECK_EQUAL(result(6, 3, STROBE_RECIPE_BIT_XOR), "0 0 3: 5 0 0 0 0 0 0 0;");
    CHECK_EQUAL(result(1, 9, STROBE_RECIPE_LEFT), "0 0 3: 0 2 0 0 0 0 0 0;");
    CHECK_EQUAL(result(1, 64, STROBE_RECIPE_LEFT), "0 0 3: 0 0 0 0 0 0 0 0;");
    const auto shifted = [&](std::int64_t by, std::int64_t bits) {
        strobe_recipe_step shift = calc(STROBE_RECIPE_LEFT);
        shift.operand = bits;
        return run(memory, {constant(1), constant(by), shift, kNote, kDrop, kEnd}).items;
    };
    CHECK_EQUAL(shifted(31, 32), "0 0 3: 0 0 0 80 0 0 0 0;");
    CHECK_EQUAL(shifted(32, 32), "1 5 2:;");
    CHECK_EQUAL(shifted(-1, 64), "1 5 2:;");
    const auto extended = [&](std::int64_t number, int width, std::uint32_t is_signed) {
        return run(memory, {constant(number), step(STROBE_RECIPE_EXTEND, is_signed, 0, width), kNote, kDrop, kEnd})
            .items;
    };
    CHECK_EQUAL(extended(0x1ff, 1, 0), "0 0 2: ff 0 0 0 0 0 0 0;");
    CHECK_EQUAL(extended(0x1ff, 1, 1), "0 0 2: ff ff ff ff ff ff ff ff;");
    CHECK_EQUAL(extended(-1, 4, 0), "0 0 2: ff ff ff ff 0 0 0 0;");
    CHECK_EQUAL(extended(-2, 8, 1), "0 0 2: fe ff ff ff ff ff ff ff;");
    CHECK_EQUAL(result(-1, 60, STROBE_RECIPE_RIGHT), "0 0 3: f 0 0 0 0 0 0 0;");
    CHECK_EQUAL(result(5, 5, STROBE_RECIPE_EQUAL), "0 0 3: 1 0 0 0 0 0 0 0;");
    CHECK_EQUAL(result(5, -1, STROBE_RECIPE_LESS), "0 0 3: 1 0 0 0 0 0 0 0;");
    CHECK_EQUAL(result(5, 0, STROBE_RECIPE_AND), "0 0 3: 0 0 0 0 0 0 0 0;");
    CHECK_EQUAL(result(0, 5, STROBE_RECIPE_OR), "0 0 3: 1 0 0 0 0 0 0 0;");
    CHECK_EQUAL(result(5, 0, STROBE_RECIPE_DIVIDED), "5 5 2:;");
    CHECK_EQUAL(result(5, 0, STROBE_RECIPE_MODULO), "5 5 2:;");
    CHECK_EQUAL(run(memory, {base(0x1000), step(STROBE_RECIPE_NUMBER, 1, 0, 1), kNote, kDrop, kEnd}).items,
                "0 0 2: 80 ff ff ff ff ff ff ff;");
    CHECK_EQUAL(run(memory, {constant(0), base(0x4000), number(8), calc(STROBE_RECIPE_AND), kNote, kDrop, kEnd}).items,
                "0 0 4: 0 0 0 0 0 0 0 0;");  // what is bad does not matter
    CHECK_EQUAL(run(memory, {constant(1), base(0x4000), number(8), calc(STROBE_RECIPE_AND), kNote, kDrop, kEnd}).items,
                "4000 2 2:;");
    CHECK_EQUAL(
        run(memory, {base(0x4000), constant(0), number(8), constant(6), calc(STROBE_RECIPE_SELECT), kNote, kDrop, kEnd})
            .items,
        "0 0 5: 6 0 0 0 0 0 0 0;");
    CHECK_EQUAL(
        run(memory, {constant(3), constant(4), step(STROBE_RECIPE_PICK, 1), kNote, kDrop, kDrop, kDrop, kEnd}).items,
        "0 0 3: 3 0 0 0 0 0 0 0;");
    CHECK_EQUAL(
        run(memory, {base(0x1000), step(STROBE_RECIPE_LOCATION, 0, 2), step(STROBE_RECIPE_GO), bytes(1), kEnd}).items,
        "1002 0 3: 0;");
    CHECK_EQUAL(run(memory, {base(0x1000), constant(0), step(STROBE_RECIPE_GO), bytes(1), kEnd}).items, "1000 1 2:;");
}

void what_is_required_decides_whether_the_place_is_good() {
    Memory memory;
    memory.put(0x1000, 0x80);
    const strobe_recipe_step require = step(STROBE_RECIPE_REQUIRE);
    CHECK_EQUAL(run(memory, {base(0x1000), constant(7), require, bytes(1), kEnd}).items, "1000 0 3: 80;");
    CHECK_EQUAL(run(memory, {base(0x1000), constant(0), require, bytes(1), kEnd}).items, "1000 5 2:;");
    CHECK_EQUAL(run(memory, {base(0x4000), number(8), base(0x1000), require, bytes(1), kEnd}).items, "4000 2 1:;");
    CHECK_EQUAL(
        run(memory, {base(0x1000), constant(0), require, constant(0x1000), step(STROBE_RECIPE_GO), bytes(1), kEnd})
            .items,
        "1000 5 2:;");  // a location that is bad stays so
    CHECK_EQUAL(run(memory, {require, kEnd}).status, static_cast<std::uint32_t>(STROBE_RECIPE_MALFORMED));
}

void virtual_bases() {
    Memory memory;
    memory.put(0x1000, 0x1040);  // the vtable pointer
    memory.put(0x1028, 0x10);    // at -24 of it
    memory.put(0x1010, 0x77);
    CHECK_EQUAL(run(memory, {base(0x1000), step(STROBE_RECIPE_VIRTUAL_BASE, 0, -24), bytes(1), kEnd}).items,
                "1010 0 2: 77;");
}

// What a recipe gives that begins with PASSED and reads 16 bytes there.
Result of_call(const strobe_passed* passed, std::uint32_t count, std::int64_t numbers) {
    static recipe_run machine;
    const strobe_moment moment{passed, nullptr, 0, 0, nullptr, nullptr, nullptr};
    std::vector<std::uint8_t> bytes(64);
    std::vector<strobe_recipe_item> items(4);
    strobe_recipe_output output{bytes.data(), 64, 0, items.data(), 4, 0, 0};
    const std::vector<strobe_recipe_step> steps{step(STROBE_RECIPE_PASSED, count, numbers),
                                                step(STROBE_RECIPE_READ, 16), kEnd};
    const auto read = [](void*, std::uint64_t address, void* to, std::uint32_t size) {
        std::memcpy(to, reinterpret_cast<const void*>(address), size);
        return size;
    };
    const std::uint32_t status = strobe_recipe_run_on(&machine, steps.data(), 3, 0, &moment, read, nullptr, &output);
    if (output.item_count != 1) return {status, ""};
    std::uint64_t words[2] = {};
    std::memcpy(words, bytes.data(), items[0].size);
    std::ostringstream text;
    text << items[0].status << ": " << words[0] << ' ' << words[1];
    return {status, text.str()};
}

void what_was_passed_is_read() {
    strobe_passed passed{};
    for (std::uint64_t index = 0; index < STROBE_PASSED_WORDS; index++) passed.words[index] = 100 + index;
    passed.known = 0x0f00ff;
    CHECK_EQUAL(of_call(&passed, 2, 0x0201).items, "0: 101 102");  // where they lie
    CHECK_EQUAL(of_call(&passed, 2, 0x0105).items, "0: 105 101");  // put together
    CHECK_EQUAL(of_call(&passed, 2, 0x1311).items, "0: 117 119");
    CHECK_EQUAL(of_call(&passed, 2, 0x0908).items, "5: 0 0");  // not known: BROKEN
    CHECK_EQUAL(of_call(&passed, 2, 0x0801).items, "5: 0 0");
    CHECK_EQUAL(of_call(nullptr, 2, 0x0201).items, "5: 0 0");
    CHECK_EQUAL(of_call(&passed, 1, STROBE_PASSED_WORDS).status, STROBE_RECIPE_MALFORMED);
    CHECK_EQUAL(of_call(&passed, 0, 0).status, STROBE_RECIPE_MALFORMED);
    CHECK_EQUAL(of_call(&passed, 9, 0).status, STROBE_RECIPE_MALFORMED);
}

std::uint64_t calculated(int operation, std::uint64_t left, std::uint64_t right) {
    Memory memory;
    const auto constant_of = [](std::uint64_t number) { return constant(static_cast<std::int64_t>(number)); };
    const std::string item =
        run(memory, {constant_of(left), constant_of(right), calc(operation), kNote, kDrop, kEnd}).items;
    std::uint64_t value = 0, at = 0;
    std::istringstream bytes(item.substr(item.find(':') + 1));
    for (std::string byte; at < 8 && bytes >> byte; at++) value |= std::stoull(byte, nullptr, 16) << 8 * at;
    return value;
}

template <typename To, typename From>
To bits_of(From value) {
    To bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

// Compared with what the CPU makes of them.
void floating_point_numbers_are_compared() {
    std::mt19937_64 random(11);
    const double special[] = {0.0,    -0.0,   1.0,      -1.0,      0.1, 1e300,
                              -1e300, 5e-324, INFINITY, -INFINITY, NAN, 9007199254740993.0};
    for (int round = 0; round < 20000; round++) {
        const auto pick = [&] {
            const std::uint64_t number = random();
            if (number % 3 == 0) return special[number / 3 % std::size(special)];
            if (number % 3 == 1) return static_cast<double>(static_cast<std::int64_t>(random() >> (number / 3 % 60)));
            double value = 0;
            const std::uint64_t bits = random();
            std::memcpy(&value, &bits, 8);
            return value;
        };
        const double left = pick(), right = round % 7 ? pick() : left;
        const auto one = bits_of<std::uint64_t>(left), other = bits_of<std::uint64_t>(right);
        CHECK_EQUAL(calculated(STROBE_RECIPE_DOUBLE_LESS, one, other), std::uint64_t{left < right});
        CHECK_EQUAL(calculated(STROBE_RECIPE_DOUBLE_EQUAL, one, other), std::uint64_t{left == right});
        float narrow = 0;
        const auto narrow_bits = static_cast<std::uint32_t>(random());
        std::memcpy(&narrow, &narrow_bits, 4);
        if (narrow == narrow)
            CHECK_EQUAL(calculated(STROBE_RECIPE_TO_DOUBLE, narrow_bits, STROBE_RECIPE_FROM_FLOAT),
                        bits_of<std::uint64_t>(static_cast<double>(narrow)));
        const std::uint64_t number = random() >> random() % 64;
        CHECK_EQUAL(calculated(STROBE_RECIPE_TO_DOUBLE, number, STROBE_RECIPE_FROM_UNSIGNED),
                    bits_of<std::uint64_t>(static_cast<double>(number)));
        CHECK_EQUAL(calculated(STROBE_RECIPE_TO_DOUBLE, number, STROBE_RECIPE_FROM_SIGNED),
                    bits_of<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(number))));
    }
}

void signed_numbers_are_calculated_with() {
    const auto of = [](std::int64_t number) { return static_cast<std::uint64_t>(number); };
    CHECK_EQUAL(calculated(STROBE_RECIPE_SIGNED_LESS, of(-1), 0), 1U);
    CHECK_EQUAL(calculated(STROBE_RECIPE_SIGNED_LESS, 0, of(-1)), 0U);
    CHECK_EQUAL(calculated(STROBE_RECIPE_SIGNED_DIVIDED, of(-7), 2), of(-3));
    CHECK_EQUAL(calculated(STROBE_RECIPE_SIGNED_MODULO, of(-7), 2), of(-1));
    CHECK_EQUAL(calculated(STROBE_RECIPE_SIGNED_DIVIDED, of(INT64_MIN), of(-1)), of(INT64_MIN));
    CHECK_EQUAL(calculated(STROBE_RECIPE_SIGNED_MODULO, of(INT64_MIN), of(-1)), 0U);
    CHECK_EQUAL(calculated(STROBE_RECIPE_SIGNED_RIGHT, of(-8), 1), of(-4));
    CHECK_EQUAL(calculated(STROBE_RECIPE_SIGNED_RIGHT, of(-8), 100), of(-1));
    CHECK_EQUAL(calculated(STROBE_RECIPE_SIGNED_RIGHT, 8, 100), 0U);
    Memory memory;
    CHECK_EQUAL(run(memory, {constant(1), constant(0), calc(STROBE_RECIPE_SIGNED_DIVIDED), kNote, kDrop, kEnd})
                    .items.substr(2, 1),
                "5");  // BROKEN
}

// The number that steps push: its first byte, "bad" with its status, or the status of a recipe that fails.
std::string noted(Memory& memory, std::vector<strobe_recipe_step> steps) {
    steps.insert(steps.end(), {kNote, kDrop, kEnd});
    const Result result = run(memory, steps);
    if (result.status != STROBE_RECIPE_OK) return "status " + std::to_string(result.status);
    const std::size_t colon = result.items.find(':');
    const std::string status = result.items.substr(result.items.find(' ') + 1, 1);
    return status == "0" ? result.items.substr(colon + 2, 1) : "bad " + status;
}

// The steps that compare the text at an address; `length` -1: up to its first zero, `most` bytes at most.
std::string compared(Memory& memory, std::int64_t address, int how, const std::string& literal,
                     std::int64_t length = -1, std::int64_t most = 4096) {
    std::vector<strobe_recipe_step> steps{base(address)};
    if (length >= 0) steps.push_back(constant(length));
    steps.push_back(
        step(STROBE_RECIPE_TEST_TEXT, static_cast<std::uint32_t>(literal.size()), length < 0 ? most : 0, how));
    for (std::size_t at = 0; at < literal.size(); at += 8) {
        std::int64_t word = 0;
        std::memcpy(&word, literal.data() + at, std::min<std::size_t>(8, literal.size() - at));
        steps.push_back(step(STROBE_RECIPE_DATA, 0, word));
    }
    return noted(memory, std::move(steps));
}

void texts_are_compared() {
    Memory memory;
    const std::string text = "a longer text with odd ends, of seventy characters or so, and aab aaab";
    memory.put(0x1000, text.c_str());
    memory.put(0x10fc, "wxyz");
    for (std::int64_t length : {std::int64_t{-1}, static_cast<std::int64_t>(text.size())}) {
        CHECK_EQUAL(compared(memory, 0x1000, STROBE_RECIPE_TEXT_EQUALS, text.substr(0, 60), length), "0");
        CHECK_EQUAL(compared(memory, 0x1000, STROBE_RECIPE_TEXT_STARTS, "a longer", length), "1");
        CHECK_EQUAL(compared(memory, 0x1000, STROBE_RECIPE_TEXT_STARTS, "a longeR", length), "0");
        CHECK_EQUAL(compared(memory, 0x1000, STROBE_RECIPE_TEXT_ENDS, "aaab", length), "1");
        CHECK_EQUAL(compared(memory, 0x1000, STROBE_RECIPE_TEXT_ENDS, "aaaa", length), "0");
        CHECK_EQUAL(compared(memory, 0x1000, STROBE_RECIPE_TEXT_CONTAINS, "aaab", length), "1");
        CHECK_EQUAL(compared(memory, 0x1000, STROBE_RECIPE_TEXT_CONTAINS, "and aab a", length), "1");
        CHECK_EQUAL(compared(memory, 0x1000, STROBE_RECIPE_TEXT_CONTAINS, "aaaab", length), "0");
        CHECK_EQUAL(compared(memory, 0x1000, STROBE_RECIPE_TEXT_CONTAINS, "", length), "1");
        CHECK_EQUAL(compared(memory, 0x1000, STROBE_RECIPE_TEXT_EQUALS, "", length), "0");
    }
    CHECK_EQUAL(compared(memory, 0x1000, STROBE_RECIPE_TEXT_EQUALS, "a long", 6), "1");
    CHECK_EQUAL(compared(memory, 0x1000, STROBE_RECIPE_TEXT_EQUALS, "a long", -1, 6), "1");  // an array that is full
    CHECK_EQUAL(compared(memory, 0x1000, STROBE_RECIPE_TEXT_EQUALS, "", 0), "1");
    CHECK_EQUAL(compared(memory, 0x10fc, STROBE_RECIPE_TEXT_EQUALS, "wxyz"), "bad 2");  // memory ends before a zero
    CHECK_EQUAL(compared(memory, 0x10fc, STROBE_RECIPE_TEXT_CONTAINS, "z", 8), "bad 2");
    CHECK_EQUAL(compared(memory, 0x10fc, STROBE_RECIPE_TEXT_CONTAINS, "q", 8), "bad 2");
    CHECK_EQUAL(compared(memory, 0x4000, STROBE_RECIPE_TEXT_EQUALS, "x", 1), "bad 2");
    CHECK_EQUAL(compared(memory, 0x1000, STROBE_RECIPE_TEXT_EQUALS, "x", std::int64_t{1} << 40), "bad 2");
    CHECK_EQUAL(run(memory, {base(0x1000), step(STROBE_RECIPE_TEST_TEXT, 9, 10, 0), kEnd}).status,
                STROBE_RECIPE_MALFORMED);
    CHECK_EQUAL(
        run(memory, {base(0x1000), step(STROBE_RECIPE_TEST_TEXT, 1, 0, 0), step(STROBE_RECIPE_DATA), kEnd}).status,
        STROBE_RECIPE_MALFORMED);
    CHECK_EQUAL(run(memory, {step(STROBE_RECIPE_DATA), kEnd}).status, STROBE_RECIPE_MALFORMED);
}

// Of two texts in memory; `length`, `other_length` -1: up to the first zero, 100 bytes at most.
std::string both_compared(Memory& memory, std::int64_t address, std::int64_t length, int how, std::int64_t other,
                          std::int64_t other_length) {
    std::vector<strobe_recipe_step> steps;
    if (other_length >= 0) steps.push_back(constant(other_length));
    steps.insert(steps.end(), {constant(other), base(address)});
    if (length >= 0) steps.push_back(constant(length));
    steps.push_back(step(STROBE_RECIPE_TEST_TEXTS, 0, length < 0 ? 100 : 0, how));
    steps.push_back(step(STROBE_RECIPE_DATA, 0, other_length < 0 ? 100 : 0));
    return noted(memory, std::move(steps));
}

void two_texts_are_compared() {
    Memory memory;
    const std::string text = "a longer text with odd ends, of seventy characters or so, and aab aaab";
    memory.put(0x1000, text.c_str());
    memory.put(0x1080, text.c_str());
    memory.put(0x10fc, "wxyz");
    const auto size = static_cast<std::int64_t>(text.size());
    for (std::int64_t length : {std::int64_t{-1}, size}) {
        for (std::int64_t other : {std::int64_t{-1}, size})
            CHECK_EQUAL(both_compared(memory, 0x1000, length, STROBE_RECIPE_TEXT_EQUALS, 0x1080, other), "1");
        CHECK_EQUAL(both_compared(memory, 0x1000, length, STROBE_RECIPE_TEXT_EQUALS, 0x1081, -1), "0");
        CHECK_EQUAL(both_compared(memory, 0x1000, length, STROBE_RECIPE_TEXT_STARTS, 0x1080, 66), "1");
        CHECK_EQUAL(both_compared(memory, 0x1000, length, STROBE_RECIPE_TEXT_STARTS, 0x1081, 66), "0");
        CHECK_EQUAL(both_compared(memory, 0x1000, length, STROBE_RECIPE_TEXT_ENDS, 0x1081, -1), "1");
        CHECK_EQUAL(both_compared(memory, 0x1000, length, STROBE_RECIPE_TEXT_CONTAINS, 0x1085, 60), "1");
        CHECK_EQUAL(both_compared(memory, 0x1000, length, STROBE_RECIPE_TEXT_CONTAINS, 0x1085, 65),
                    "bad 2");  // too long
        CHECK_EQUAL(both_compared(memory, 0x1000, length, STROBE_RECIPE_TEXT_EQUALS, 0x1080, 0), "0");
    }
    CHECK_EQUAL(both_compared(memory, 0x1000, 4, STROBE_RECIPE_TEXT_STARTS, 0x10fc, 4), "0");
    CHECK_EQUAL(both_compared(memory, 0x1000, -1, STROBE_RECIPE_TEXT_STARTS, 0x10fc, -1), "bad 2");
    CHECK_EQUAL(both_compared(memory, 0x10fc, 8, STROBE_RECIPE_TEXT_EQUALS, 0x1000, 8), "bad 2");
    CHECK_EQUAL(both_compared(memory, 0x4000, 0, STROBE_RECIPE_TEXT_EQUALS, 0x5000, 0), "1");
    CHECK_EQUAL(both_compared(memory, 0x1000, 1, STROBE_RECIPE_TEXT_EQUALS, 0x1000, std::int64_t{1} << 40), "bad 2");
    CHECK_EQUAL(run(memory, {constant(1), base(0x1000), step(STROBE_RECIPE_TEST_TEXTS, 0, 5, 0), kEnd}).status,
                STROBE_RECIPE_MALFORMED);
}

void nonsense_is_refused() {
    Memory memory;
    const std::uint32_t malformed = STROBE_RECIPE_MALFORMED;
    CHECK_EQUAL(run(memory, {}).status, malformed);
    CHECK_EQUAL(run(memory, {base(0)}).status, malformed);
    CHECK_EQUAL(run(memory, {step(99), kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {kNext, kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {repeat(2, 1), kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {step(STROBE_RECIPE_RESTORE), kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {step(STROBE_RECIPE_SAVE), kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {repeat(2, 1), step(STROBE_RECIPE_SAVE), kNext, kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {constant(1), step(STROBE_RECIPE_WHEN, 9), kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {number(3), kDrop, kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {constant(3), kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {kDrop, kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {kNote, kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {step(STROBE_RECIPE_TURN), kDrop, kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {constant(3), calc(STROBE_RECIPE_PLUS), kDrop, kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {constant(3), constant(3), calc(99), kDrop, kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {constant(3), step(STROBE_RECIPE_PICK, 1), kDrop, kDrop, kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {repeat(2, 1), constant(3), kNext, kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {base(0x1000), constant(3), chain(3, 0), kNext, kEnd}).status, malformed);
    const std::vector<strobe_recipe_step> numbers(STROBE_RECIPE_MAX_NUMBERS + 1, constant(1));
    CHECK_EQUAL(run(memory, numbers).status, malformed);
    const std::vector<strobe_recipe_step> loops(STROBE_RECIPE_MAX_LOOPS + 1, repeat(1, 1));
    std::vector<strobe_recipe_step> closed = loops;
    closed.insert(closed.end(), loops.size(), kNext);
    closed.push_back(kEnd);
    CHECK_EQUAL(run(memory, closed).status, malformed);
    CHECK_EQUAL(run(memory, {step(STROBE_RECIPE_TEXT, 1, 0, 0), kEnd}).status, malformed);
    std::vector<strobe_recipe_step> deep(STROBE_RECIPE_MAX_NESTING, step(STROBE_RECIPE_SAVE));
    deep.insert(deep.end(), STROBE_RECIPE_MAX_NESTING, step(STROBE_RECIPE_RESTORE));
    deep.push_back(kEnd);
    CHECK_EQUAL(run(memory, deep).status, static_cast<std::uint32_t>(STROBE_RECIPE_OK));
    deep.insert(deep.begin(), step(STROBE_RECIPE_SAVE));
    CHECK_EQUAL(run(memory, deep).status, malformed);
    const auto forever = run(memory, {repeat(1 << 20, 0), repeat(1 << 20, 0), add(0), kNext, kNext, kEnd});
    CHECK_EQUAL(forever.status, static_cast<std::uint32_t>(STROBE_RECIPE_ENDLESS));
    const auto full = run(memory, {base(0x1000), repeat(9, 1), bytes(1), kNext, kEnd}, 256, 8);
    CHECK_EQUAL(full.status, static_cast<std::uint32_t>(STROBE_RECIPE_FULL));
}

// A step that is likely to be well-formed: random ones alone hardly ever get past their first numbers.
strobe_recipe_step likely_step(std::mt19937_64& random) {
    const auto small = static_cast<std::int64_t>(random() % 64) - 32;
    switch (random() % 6) {
        case 0:
            return constant(static_cast<std::int64_t>(random() % 2 ? kStart + random() % 256 : random() % 20));
        case 1:
            return number(1 << random() % 4, small);
        case 2:
            return calc(static_cast<int>(random() % (STROBE_RECIPE_SELECT + 1)));
        case 3:
            return random() % 2 ? kNote : kNext;
        default:
            return step(static_cast<int>(random() % (STROBE_RECIPE_LEAVE + 1)),
                        static_cast<std::uint32_t>(random() % 20),
                        random() % 4 ? small : static_cast<std::int64_t>(random() >> 20), 1 << random() % 8);
    }
}

// Under the sanitizers: whatever a recipe is, it stays within its output.
void random_recipes_end() {
    std::mt19937_64 random(7);
    Memory memory;
    for (auto& byte : memory.bytes) byte = static_cast<std::uint8_t>(random());
    for (int word = 0; word < 16; word++) memory.put(kStart + random() % 248, kStart + random() % 256);
    for (int round = 0; round < 20000; round++) {
        std::vector<strobe_recipe_step> steps{base(static_cast<std::int64_t>(kStart + random() % 256))};
        for (std::uint64_t left = random() % 24; left > 0; left--) steps.push_back(likely_step(random));
        for (std::uint64_t left = random() % 6; left > 0; left--) steps.push_back(random() % 2 ? kNext : kDrop);
        steps.push_back(kEnd);
        const std::uint32_t status = run(memory, steps, 64, 16).status;
        CHECK(status == STROBE_RECIPE_OK || status == STROBE_RECIPE_FULL || status == STROBE_RECIPE_MALFORMED ||
              status == STROBE_RECIPE_ENDLESS);
    }
}

}  // namespace

int main() {
    places_are_reached();
    bad_places_stay_bad_until_restored();
    texts_end_at_zero_or_are_cut();
    loops_and_conditions();
    numbers_are_calculated();
    what_is_required_decides_whether_the_place_is_good();
    virtual_bases();
    what_was_passed_is_read();
    signed_numbers_are_calculated_with();
    floating_point_numbers_are_compared();
    texts_are_compared();
    two_texts_are_compared();
    nonsense_is_refused();
    random_recipes_end();
    return strobe::test::verdict();
}
