#include "symbols/result_uses.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

#include "symbols/instruction_length.h"
#include "symbols/instructions.h"

namespace strobe::symbols {

namespace {

constexpr uint8_t kCall = 0xe8;
constexpr int kLooked = 4;  // instructions behind a call
// Of a result, which of its registers are read behind the call.
uint8_t uses_behind(std::span<const uint8_t> code) {
    constexpr Registers kOfResult[] = {general(kRax), general(kRdx), vector(0), vector(1)};
    Decoder decoder(code);
    Registers written = 0;
    uint8_t uses = 0;
    for (int count = 0; count < kLooked; ++count) {
        const std::optional<Instruction> found = decoder.next();
        if (!found || found->is_padding) break;  // a function that does not return may be the last thing of its caller
        for (size_t index = 0; index < std::size(kOfResult); ++index)
            if ((found->reads & ~written & kOfResult[index]) != 0) uses |= static_cast<uint8_t>(1U << index);
        written |= found->writes;
    }
    return uses;
}

// What the calls in one function show. `address`: where it begins; `code` ends where the next function does.
void add_uses_of(uint64_t address, std::span<const uint8_t> code, std::span<const uint64_t> entries,
                 std::span<uint8_t> uses) {
    size_t size = 0;
    for (size_t at = 0; at < code.size(); at += size) {
        size = instruction_length(code.subspan(at));
        if (size == 0) return;
        if (code[at] != kCall) continue;
        int32_t distance = 0;
        std::memcpy(&distance, &code[at + 1], sizeof distance);
        const uint64_t target = address + at + size + static_cast<uint64_t>(static_cast<int64_t>(distance));
        const auto found = std::ranges::lower_bound(entries, target);
        if (found == entries.end() || *found != target) continue;
        uses[static_cast<size_t>(found - entries.begin())] |= uses_behind(code.subspan(at + size));
    }
}

}  // namespace

void add_result_uses(uint64_t address, std::span<const uint8_t> code, std::span<const uint64_t> entries,
                     std::span<uint8_t> uses) {
    const uint64_t end = address + code.size();
    for (auto entry = std::ranges::lower_bound(entries, address); entry != entries.end() && *entry < end; ++entry) {
        const auto next = std::next(entry);
        const uint64_t behind = next == entries.end() ? end : std::min(*next, end);
        add_uses_of(*entry, code.subspan(*entry - address, behind - *entry), entries, uses);
    }
}

}  // namespace strobe::symbols
