// Loops of recipes over what is linked: lists, trees, tables; well made ones and others.
#include "recipe_memory.h"

using namespace strobe::test;

namespace {

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
        "4000 2 1:;4000 2 1:;");  // no turns, and the location is what it was
    CHECK_EQUAL(
        run(memory, {base(0x1000), follow(), constant(9), constant(0), chain(9, 0), bytes(0), kNext, kEnd}).items,
        "0 0 4: 0 0 0 0 0 0 0 0;");  // from null on
}

// Nodes of 32 bytes: left, right, parent. Node n lies at 0x1000 + 32 n, the head is node 0.
void link(Memory& memory, int node, int left, int right, int parent) {
    const std::uint64_t address = kStart + 32 * static_cast<std::uint64_t>(node);
    const auto at = [](int other) { return other < 0 ? 0 : kStart + 32 * static_cast<std::uint64_t>(other); };
    memory.put(address, at(left));
    memory.put(address + 8, at(right));
    memory.put(address + 16, at(parent));
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

void trees_without_parents_are_walked() {
    Memory memory;
    link(memory, 1, 2, 3, -1);
    link(memory, 2, -1, 4, -1);
    link(memory, 3, 5, -1, -1);
    link(memory, 4, -1, -1, -1);
    link(memory, 5, -1, -1, -1);
    const auto walk = [&](std::int64_t first, std::uint32_t most) {
        const strobe_recipe_step branches = step(STROBE_RECIPE_BRANCHES, most, std::int64_t{8} << 32);
        return run(memory, {base(first), branches, bytes(0), kNext, kEnd}).items;
    };
    CHECK_EQUAL(walk(0x1020, 9), "0 0 1: 5 0 0 0 0 0 0 0;1020 0 2:;1040 0 2:;1080 0 2:;1060 0 2:;10a0 0 2:;");
    CHECK_EQUAL(walk(0x1020, 2), "0 4 1: 2 0 0 0 0 0 0 0;1020 0 2:;1040 0 2:;");
    CHECK_EQUAL(walk(0x1080, 9), "0 0 1: 1 0 0 0 0 0 0 0;1080 0 2:;");
    link(memory, 4, 100, -1, -1);  // leads nowhere
    CHECK_EQUAL(walk(0x1020, 9), "1c80 2 1: 4 0 0 0 0 0 0 0;1020 0 2:;1040 0 2:;1080 0 2:;1c80 0 2:;");
    link(memory, 4, 4, 4, -1);  // itself, twice: more wait than there is room for
    CHECK_EQUAL(
        run(memory, {base(0x1020), step(STROBE_RECIPE_BRANCHES, 500, std::int64_t{8} << 32), kNext, kEnd}).items,
        "1080 3 1: 82 0 0 0 0 0 0 0;");
}

// A node of 32 bytes: parent, its index there and its count of keys, two children. Node n lies at 0x1000 + 32 n.
void put_keys(Memory& memory, int node, int parent, int index, int keys, int first, int second) {
    const std::uint64_t address = kStart + 32 * static_cast<std::uint64_t>(node);
    const auto at = [](int other) { return other < 0 ? 0 : kStart + 32 * static_cast<std::uint64_t>(other); };
    memory.put(address, at(parent));
    memory.put(address + 8, static_cast<std::uint64_t>(index | keys << 16));
    memory.put(address + 16, at(first));
    memory.put(address + 24, at(second));
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
    const auto used = [&](std::int64_t address, std::int64_t slots, std::uint32_t most) {
        return run(memory,
                   {base(address), constant(slots), step(STROBE_RECIPE_SLOTS, most, -1, 0x80), bytes(0), kNext, kEnd})
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

// No room for items, or no steps left: the loops around say how many of their turns were begun.
void what_ends_within_loops_says_so() {
    Memory memory;
    memory.put(0x1010, 0x1020);
    memory.put(0x1020, 0x1010);  // a cycle
    const std::vector<strobe_recipe_step> steps{base(0x1010), constant(9), constant(0), chain(9, 0),
                                                constant(9),  constant(0), chain(9, 0), bytes(0),
                                                kNext,        bytes(1),    kNext,       kEnd};
    const auto full = run(memory, steps, 256, 4);
    CHECK_EQUAL(full.status, static_cast<std::uint32_t>(STROBE_RECIPE_FULL));
    CHECK_EQUAL(full.items, "1010 3 3: 1 0 0 0 0 0 0 0;1010 3 6: 3 0 0 0 0 0 0 0;1010 0 7:;1020 0 7:;");
    const auto tired = run(memory, steps, 256, 32, 12);
    CHECK_EQUAL(tired.status, static_cast<std::uint32_t>(STROBE_RECIPE_ENDLESS));
    CHECK_EQUAL(tired.items, "1010 3 3: 1 0 0 0 0 0 0 0;1020 3 6: 2 0 0 0 0 0 0 0;1010 0 7:;1020 0 7:;");
    for (int slot = 0; slot < 250; slot++) memory.bytes[static_cast<std::size_t>(slot)] = 0xff;
    const std::vector<strobe_recipe_step> sparse{base(0x1000), constant(250), step(STROBE_RECIPE_SLOTS, 9, 1, 0x80),
                                                 bytes(0),     kNext,         kEnd};
    CHECK_EQUAL(run(memory, sparse, 256, 32, 10).items, "1080 3 2: 0 0 0 0 0 0 0 0;");
    CHECK_EQUAL(run(memory, sparse, 256, 32, 100).items, "0 0 2: 0 0 0 0 0 0 0 0;");
}

}  // namespace

int main() {
    chains_are_followed();
    trees_are_walked_in_order();
    trees_without_parents_are_walked();
    keys_of_nodes_are_walked_in_order();
    slots_in_use_are_found();
    what_ends_within_loops_says_so();
    return strobe::test::verdict();
}
