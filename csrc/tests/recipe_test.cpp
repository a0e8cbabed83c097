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
strobe_recipe_step load(int width) { return step(STROBE_RECIPE_LOAD, 0, 0, width); }
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
    const auto loaded = [](std::uint32_t most) { return step(STROBE_RECIPE_REPEAT_LOADED, most, 1); };
    CHECK_EQUAL(run(memory, {base(0x1000), load(1), loaded(9), bytes(1), kNext, kEnd}).items,
                "1000 0 1: 2;1000 0 3: 2;1001 0 3: 3;");
    CHECK_EQUAL(run(memory, {base(0x1000), load(2), loaded(1), bytes(1), kNext, kEnd}).items,
                "1000 0 1: 2 3;1000 0 3: 2;");
    const auto unless = [](std::int64_t number) { return step(STROBE_RECIPE_UNLESS, 1, number); };
    CHECK_EQUAL(run(memory, {base(0x1000), load(1), unless(2), bytes(1), unless(3), bytes(1), kEnd}).items,
                "1000 0 1: 2;1000 0 3: 2;");
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
    CHECK_EQUAL(run(memory, {step(STROBE_RECIPE_UNLESS, 9), kEnd}).status, malformed);
    CHECK_EQUAL(run(memory, {load(3), kEnd}).status, malformed);
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

// Under the sanitizers: whatever a recipe is, it stays within its output.
void random_recipes_end() {
    std::mt19937_64 random(7);
    Memory memory;
    for (auto& byte : memory.bytes) byte = static_cast<std::uint8_t>(random());
    for (int word = 0; word < 16; word++) memory.put(kStart + random() % 248, kStart + random() % 256);
    for (int round = 0; round < 20000; round++) {
        std::vector<strobe_recipe_step> steps{base(static_cast<std::int64_t>(kStart + random() % 256))};
        for (std::uint64_t left = random() % 24; left > 0; left--)
            steps.push_back(step(static_cast<int>(random() % 15), static_cast<std::uint32_t>(random() % 20),
                                 static_cast<std::int64_t>(random() % 64) - 32, 1 << random() % 4));
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
    virtual_bases();
    nonsense_is_refused();
    random_recipes_end();
    return strobe::test::verdict();
}
