// Recipes over a small memory: what the tests of the interpreter share.
#pragma once

#include <cstring>
#include <sstream>

#include "check.h"
#include "recipe/recipe.h"

namespace strobe::test {

inline constexpr std::uint64_t kStart = 0x1000;

// Memory from kStart on; nothing else can be read.
struct Memory {
    std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(256);

    void put(std::uint64_t address, std::uint64_t word) { std::memcpy(&bytes[address - kStart], &word, 8); }
    void put(std::uint64_t address, const char* text) {
        std::memcpy(&bytes[address - kStart], text, std::strlen(text));
    }
};

inline std::uint32_t read_memory(void* context, std::uint64_t address, void* to, std::uint32_t size) {
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

inline Result run(Memory& memory, const std::vector<strobe_recipe_step>& steps, std::uint32_t capacity = 256,
                  std::uint32_t item_capacity = 32, std::uint32_t most_steps = 0) {
    std::vector<std::uint8_t> bytes(capacity);
    std::vector<strobe_recipe_item> items(item_capacity);
    strobe_recipe_output output{bytes.data(), capacity, 0, items.data(), item_capacity, 0, most_steps};
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

inline strobe_recipe_step step(int op, std::uint32_t count = 0, std::int64_t operand = 0, int width = 0) {
    return {static_cast<std::uint8_t>(op), static_cast<std::uint8_t>(width), 0, count, operand};
}
inline const strobe_recipe_step kEnd = step(STROBE_RECIPE_END);
inline const strobe_recipe_step kNext = step(STROBE_RECIPE_NEXT);
inline strobe_recipe_step base(std::int64_t address) { return step(STROBE_RECIPE_BASE, 0, address); }
inline strobe_recipe_step add(std::int64_t offset) { return step(STROBE_RECIPE_ADD, 0, offset); }
inline strobe_recipe_step follow(std::int64_t offset = 0) { return step(STROBE_RECIPE_DEREF, 0, offset); }
inline strobe_recipe_step bytes(std::uint32_t count, std::int64_t offset = 0) {
    return step(STROBE_RECIPE_READ, count, offset);
}
inline strobe_recipe_step constant(std::int64_t number) { return step(STROBE_RECIPE_CONSTANT, 0, number); }
inline strobe_recipe_step number(int width, std::int64_t offset = 0) {
    return step(STROBE_RECIPE_NUMBER, 0, offset, width);
}
inline strobe_recipe_step calc(int operation) { return step(STROBE_RECIPE_CALC, 0, 0, operation); }
inline const strobe_recipe_step kNote = step(STROBE_RECIPE_NOTE);
inline const strobe_recipe_step kDrop = step(STROBE_RECIPE_DROP);
inline strobe_recipe_step chain(std::uint32_t most, std::int64_t next) { return step(STROBE_RECIPE_CHAIN, most, next); }
inline strobe_recipe_step repeat(std::uint32_t count, std::int64_t stride) {
    return step(STROBE_RECIPE_REPEAT, count, stride);
}

}  // namespace strobe::test
