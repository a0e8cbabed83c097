// The interpreter of recipes over a small memory, step by step, and over recipes that make no sense.
#include "recipe/recipe.h"

#include <cstring>
#include <random>
#include <sstream>

#include "check.h"

namespace {

constexpr std::uint64_t kStart = 0x1000;

// Memory from kStart on; nothing else can be read.
struct Memory {
    std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(256);

    void put(std::uint64_t address, std::uint64_t word) { std::memcpy(&bytes[address - kStart], &word, 8); }
    void put(std::uint64_t address, const char* text) {
        std::memcpy(&bytes[address - kStart], text, std::strlen(text));
    }
};

std::uint32_t read_memory(void* context, std::uint64_t address, void* to, std::uint32_t size) {
    const auto& bytes = static_cast<Memory*>(context)->bytes;
    if (address < kStart || address >= kStart + bytes.size()) return 0;
    const std::uint64_t left = kStart + bytes.size() - address;
    const std::uint32_t count = size < left ? size : static_cast<std::uint32_t>(left);
    std::memcpy(to, &bytes[address - kStart], count);
    return count;
}

struct Result {
    std::uint32_t status;
    std::string items;  // "address status step: bytes", each ended by ';'
};

Result run(Memory& memory, const std::vector<strobe_recipe_step>& steps, std::uint32_t capacity = 256,
           std::uint32_t item_capacity = 32) {
    std::vector<std::uint8_t> bytes(capacity);
    std::vector<strobe_recipe_item> items(item_capacity);
    strobe_recipe_output output{bytes.data(), capacity, 0, items.data(), item_capacity, 0};
    const auto count = static_cast<std::uint32_t>(steps.size());
    std::ostringstream text;
    const std::uint32_t status = strobe_recipe_run(steps.data(), count, 0, read_memory, &memory, &output);
    for (std::uint32_t index = 0; index < output.item_count; index++) {
        const strobe_recipe_item& item = items[index];
        text << std::hex << item.address << ' ' << item.status << ' ' << item.step << ':';
        for (std::uint32_t at = 0; at < item.size; at++) text << ' ' << +bytes[item.offset + at];
        text << ';';
    }
    return {status, text.str()};
}

strobe_recipe_step step(int op, std::uint32_t count = 0, std::int64_t operand = 0, int width = 0) {
    return {static_cast<std::uint8_t>(op), static_cast<std::uint8_t>(width), 0, count, operand};
}
const strobe_recipe_step kEnd = step(STROBE_RECIPE_END);
const strobe_recipe_step kNext = step(STROBE_RECIPE_NEXT);
strobe_recipe_step base(std::int64_t address) { return step(STROBE_RECIPE_BASE, 0, address); }
strobe_recipe_step add(std::int64_t offset) { return step(STROBE_RECIPE_ADD, 0, offset); }
strobe_recipe_step follow(std::int64_t offset = 0) { return step(STROBE_RECIPE_DEREF, 0, offset); }
strobe_recipe_step bytes(std::uint32_t count, std::int64_t offset = 0) {
    return step(STROBE_RECIPE_READ, count, offset);
}
strobe_recipe_step constant(std::int64_t number) { return step(STROBE_RECIPE_CONSTANT, 0, number); }
strobe_recipe_step number(int width, std::int64_t offset = 0) { return step(STROBE_RECIPE_NUMBER, 0, offset, width); }
strobe_recipe_step calc(int operation) { return step(STROBE_RECIPE_CALC, 0, 0, operation); }
const strobe_recipe_step kNote = step(STROBE_RECIPE_NOTE);
const strobe_recipe_step kDrop = step(STROBE_RECIPE_DROP);
strobe_recipe_step repeat(std::uint32_t count, std::int64_t stride) {
    return step(STROBE_RECIPE_REPEAT, count, stride);
}

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
    const auto when = [](std::uint32_t left_out) { return step(STROBE_RECIPE_WHEN, left_out); };
    CHECK_EQUAL(run(memory, {base(0x1000), number(1), when(1), bytes(1), number(1, 4), when(2), bytes(1), bytes(1),
                             bytes(2), kEnd})
                    .items,
                "1000 0 3: 2;1000 0 8: 2 3;");
    CHECK_EQUAL(
        run(memory, {base(0x4000), number(1), when(1), bytes(1), constant(1), many(2), bytes(1), kNext, kEnd}).items,
        "4000 2 6:;");  // a bad number leaves out; a bad place is an item
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
        run(memory, {base(0x1000), step(STROBE_RECIPE_PLACE, 0, 2), step(STROBE_RECIPE_GO), bytes(1), kEnd}).items,
        "1002 0 3: 0;");
    CHECK_EQUAL(run(memory, {base(0x1000), constant(0), step(STROBE_RECIPE_GO), bytes(1), kEnd}).items, "1000 1 2:;");
}

strobe_recipe_step chain(std::uint32_t most, std::int64_t next) { return step(STROBE_RECIPE_CHAIN, most, next); }

void chains_are_followed() {
    Memory memory;
    memory.put(0x1010, 0x1020);  // 1010 -> 1020 -> 1030 -> null
    memory.put(0x1020, 0x1030);
    const auto follow_chain = [&](std::uint32_t most, std::int64_t limit, std::int64_t end) {
        return run(memory, {base(0x1010), constant(limit), constant(end), chain(most, 0), bytes(0), kNext, kEnd}).items;
    };
    CHECK_EQUAL(follow_chain(9, 9, 0), "0 0 3: 3 0 0 0 0 0 0 0;1010 0 4:;1020 0 4:;1030 0 4:;");
    CHECK_EQUAL(follow_chain(9, 9, 0x1030), "0 0 3: 2 0 0 0 0 0 0 0;1010 0 4:;1020 0 4:;");
    CHECK_EQUAL(follow_chain(9, 9, 0x1010), "0 0 3: 0 0 0 0 0 0 0 0;");
    CHECK_EQUAL(follow_chain(2, 9, 0), "0 0 3: 3 0 0 0 0 0 0 0;1010 0 4:;1020 0 4:;");
    CHECK_EQUAL(follow_chain(2, 2, 0), "0 4 3: 2 0 0 0 0 0 0 0;1010 0 4:;1020 0 4:;");
    CHECK_EQUAL(follow_chain(3, 3, 0), "0 0 3: 3 0 0 0 0 0 0 0;1010 0 4:;1020 0 4:;1030 0 4:;");
    memory.put(0x1030, 0x1010);  // a cycle
    CHECK_EQUAL(follow_chain(1, 1000, 0), "0 4 3: e8 3 0 0 0 0 0 0;1010 0 4:;");
    memory.put(0x1030, 0x7777);  // leads nowhere
    CHECK_EQUAL(follow_chain(9, 9, 0), "7777 2 3: 4 0 0 0 0 0 0 0;1010 0 4:;1020 0 4:;1030 0 4:;7777 0 4:;");
    CHECK_EQUAL(
        run(memory, {base(0x4000), follow(), constant(9), constant(0), chain(9, 0), bytes(0), kNext, bytes(1), kEnd})
            .items,
        "4000 2 1:;4000 2 1:;");  // no turns, and the place is what it was
    CHECK_EQUAL(
        run(memory, {base(0x1000), follow(), constant(9), constant(0), chain(9, 0), bytes(0), kNext, kEnd}).items,
        "0 0 4: 0 0 0 0 0 0 0 0;");  // from null on
}

// Nodes of 32 bytes: left, right, parent. Node n lies at 0x1000 + 32 n, the head is node 0.
void link(Memory& memory, int node, int left, int right, int parent) {
    const std::uint64_t place = kStart + 32 * static_cast<std::uint64_t>(node);
    const auto at = [](int other) { return other < 0 ? 0 : kStart + 32 * static_cast<std::uint64_t>(other); };
    memory.put(place, at(left));
    memory.put(place + 8, at(right));
    memory.put(place + 16, at(parent));
}

void trees_are_walked_in_order() {
    Memory memory;
    link(memory, 0, 1, -1, -1);  // the head: its left is the root
    link(memory, 1, 2, 3, 0);
    link(memory, 2, -1, 4, 1);
    link(memory, 3, 5, -1, 1);
    link(memory, 4, -1, -1, 2);
    link(memory, 5, -1, -1, 3);
    const auto walk = [&](std::int64_t first, std::uint32_t most) {
        const std::int64_t links = 8 << 16 | std::int64_t{16} << 32;
        return run(memory,
                   {base(first), constant(0x1000), step(STROBE_RECIPE_TREE, most, links), bytes(0), kNext, kEnd})
            .items;
    };
    CHECK_EQUAL(walk(0x1040, 9), "0 0 2: 5 0 0 0 0 0 0 0;1040 0 3:;1080 0 3:;1020 0 3:;10a0 0 3:;1060 0 3:;");
    CHECK_EQUAL(walk(0x1040, 5), "0 0 2: 5 0 0 0 0 0 0 0;1040 0 3:;1080 0 3:;1020 0 3:;10a0 0 3:;1060 0 3:;");
    CHECK_EQUAL(walk(0x1040, 2), "0 4 2: 2 0 0 0 0 0 0 0;1040 0 3:;1080 0 3:;");
    CHECK_EQUAL(walk(0x1000, 9), "0 0 2: 0 0 0 0 0 0 0 0;");  // the first one is the head: empty
    link(memory, 4, -1, -1, 3);                               // does not know its parent
    CHECK_EQUAL(walk(0x1040, 9), "1080 5 2: 1 0 0 0 0 0 0 0;1040 0 3:;");
    link(memory, 2, -1, 2, 1);  // its own child
    CHECK_EQUAL(walk(0x1040, 9), "1040 5 2: 1 0 0 0 0 0 0 0;1040 0 3:;");
    link(memory, 2, -1, 100, 1);  // leads nowhere
    CHECK_EQUAL(walk(0x1040, 9), "1c90 2 2: 1 0 0 0 0 0 0 0;1040 0 3:;");
}

// A node of 32 bytes: parent, its index there and its count of keys, two children. Node n lies at 0x1000 + 32 n.
void put_keys(Memory& memory, int node, int parent, int index, int keys, int first, int second) {
    const std::uint64_t place = kStart + 32 * static_cast<std::uint64_t>(node);
    const auto at = [](int other) { return other < 0 ? 0 : kStart + 32 * static_cast<std::uint64_t>(other); };
    memory.put(place, at(parent));
    memory.put(place + 8, static_cast<std::uint64_t>(index | keys << 16));
    memory.put(place + 16, at(first));
    memory.put(place + 24, at(second));
}

void keys_of_nodes_are_walked_in_order() {
    Memory memory;
    put_keys(memory, 0, -1, 9, 1, 1, 2);  // the root, of height 2
    put_keys(memory, 1, 0, 0, 1, 3, 4);
    put_keys(memory, 2, 0, 1, 1, 5, 6);
    put_keys(memory, 3, 1, 0, 2, -1, -1);
    put_keys(memory, 4, 1, 1, 1, -1, -1);
    put_keys(memory, 5, 2, 0, 1, -1, -1);
    put_keys(memory, 6, 2, 1, 2, -1, -1);
    const std::int64_t links = 8 << 16 | std::int64_t{10} << 32 | std::int64_t{16} << 48;
    const auto walk = [&](std::int64_t root, std::int64_t height, std::uint32_t most) {
        const strobe_recipe_step slot = step(STROBE_RECIPE_SLOT);
        return run(memory, {base(root), constant(height), step(STROBE_RECIPE_BTREE, most, links), slot, kNote, kDrop,
                            step(STROBE_RECIPE_READ), kNext, kEnd})
            .items;
    };
    const auto key = [](const char* node, const char* at) {
        return std::string("0 0 4: ") + at + " 0 0 0 0 0 0 0;" + node + " 0 6:;";
    };
    const std::string first = key("1060", "0") + key("1060", "1");
    const std::string left = first + key("1020", "0") + key("1080", "0");
    const std::string right = key("10a0", "0") + key("1040", "0") + key("10c0", "0") + key("10c0", "1");
    CHECK_EQUAL(walk(0x1000, 2, 20), "0 0 2: 9 0 0 0 0 0 0 0;" + left + key("1000", "0") + right);
    CHECK_EQUAL(walk(0x1000, 2, 9), "0 0 2: 9 0 0 0 0 0 0 0;" + left + key("1000", "0") + right);
    CHECK_EQUAL(walk(0x1000, 2, 4), "0 4 2: 4 0 0 0 0 0 0 0;" + left);
    CHECK_EQUAL(walk(0x1000, 2, 0), "0 0 2: 0 0 0 0 0 0 0 0;");
    CHECK_EQUAL(walk(0x1000, 1000, 9), "1000 5 2: 0 0 0 0 0 0 0 0;");  // of no such height
    CHECK_EQUAL(walk(0x1000, 3, 9), "0 2 2: 0 0 0 0 0 0 0 0;");        // nor of this: what would be a child is none
    put_keys(memory, 4, 1, 0, 1, -1, -1);                              // does not know which child it is
    CHECK_EQUAL(walk(0x1000, 2, 9), "1080 5 2: 3 0 0 0 0 0 0 0;" + first + key("1020", "0"));
    put_keys(memory, 4, 1, 1, 0, -1, -1);  // without keys
    CHECK_EQUAL(walk(0x1000, 2, 9), "1080 5 2: 3 0 0 0 0 0 0 0;" + first + key("1020", "0"));
    put_keys(memory, 1, 0, 0, 1, 3, 100);  // leads nowhere
    CHECK_EQUAL(walk(0x1000, 2, 9), "1c80 2 2: 3 0 0 0 0 0 0 0;" + first + key("1020", "0"));
    put_keys(memory, 0, -1, 0, 0, -1, -1);  // an empty root
    CHECK_EQUAL(walk(0x1000, 0, 9), "0 0 2: 0 0 0 0 0 0 0 0;");
}

void slots_in_use_are_found() {
    Memory memory;
    for (int slot = 0; slot < 40; slot++) memory.bytes[64 + slot] = 0xff;
    memory.bytes[64 + 1] = 0x11;
    memory.bytes[64 + 17] = 0x7f;
    memory.bytes[64 + 39] = 0;
    const auto used = [&](std::int64_t place, std::int64_t slots, std::uint32_t most) {
        return run(memory,
                   {base(place), constant(slots), step(STROBE_RECIPE_SLOTS, most, -1, 0x80), bytes(0), kNext, kEnd})
            .items;
    };
    CHECK_EQUAL(used(0x1040, 40, 9), "0 0 2: 3 0 0 0 0 0 0 0;103f 0 3:;102f 0 3:;1019 0 3:;");
    CHECK_EQUAL(used(0x1040, 39, 9), "0 0 2: 2 0 0 0 0 0 0 0;103f 0 3:;102f 0 3:;");
    CHECK_EQUAL(used(0x1040, 40, 1), "0 4 2: 1 0 0 0 0 0 0 0;103f 0 3:;");
    CHECK_EQUAL(used(0x1040, 1, 9), "0 0 2: 0 0 0 0 0 0 0 0;");
    CHECK_EQUAL(used(0x1040, 0, 9), "0 0 2: 0 0 0 0 0 0 0 0;");
    CHECK_EQUAL(used(0x10f0, 20, 16),
                "1100 2 2: 10 0 0 0 0 0 0 0;10f0 0 3:;10ef 0 3:;10ee 0 3:;10ed 0 3:;10ec 0 3:;"
                "10eb 0 3:;10ea 0 3:;10e9 0 3:;10e8 0 3:;10e7 0 3:;10e6 0 3:;10e5 0 3:;"
                "10e4 0 3:;10e3 0 3:;10e2 0 3:;10e1 0 3:;");
    CHECK_EQUAL(used(0x4000, 40, 9), "4000 2 2: 0 0 0 0 0 0 0 0;");
    CHECK_EQUAL(run(memory, {base(0x1040), constant(40), step(STROBE_RECIPE_SLOTS, 9, -1, 0x80),
                             step(STROBE_RECIPE_TURN), kNote, kDrop, kNext, kEnd})
                    .items,
                "0 0 2: 3 0 0 0 0 0 0 0;0 0 4: 0 0 0 0 0 0 0 0;0 0 4: 1 0 0 0 0 0 0 0;0 0 4: 2 0 0 0 0 0 0 0;");
}

void virtual_bases() {
    Memory memory;
    memory.put(0x1000, 0x1040);  // the vtable pointer
    memory.put(0x1028, 0x10);    // at -24 of it
    memory.put(0x1010, 0x77);
    CHECK_EQUAL(run(memory, {base(0x1000), step(STROBE_RECIPE_VIRTUAL_BASE, 0, -24), bytes(1), kEnd}).items,
                "1010 0 2: 77;");
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
            return step(static_cast<int>(random() % (STROBE_RECIPE_NEXT + 1)),
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
    chains_are_followed();
    trees_are_walked_in_order();
    keys_of_nodes_are_walked_in_order();
    slots_in_use_are_found();
    virtual_bases();
    nonsense_is_refused();
    random_recipes_end();
    return strobe::test::verdict();
}
