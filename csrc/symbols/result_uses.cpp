#include "symbols/result_uses.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "symbols/instructions.h"

namespace strobe::symbols {

namespace {

constexpr size_t kCallBytes = 5;
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

}  // namespace

void add_result_uses(uint64_t address, std::span<const uint8_t> code, std::span<const uint64_t> entries,
                     std::span<uint8_t> uses) {
    const uint8_t* const begin = code.data();
    const uint8_t* const end = begin + code.size();
    for (const uint8_t* at = begin; end - at > static_cast<std::ptrdiff_t>(kCallBytes); ++at) {
        at = static_cast<const uint8_t*>(std::memchr(at, kCall, static_cast<size_t>(end - at)));
        if (at == nullptr || end - at <= static_cast<std::ptrdiff_t>(kCallBytes)) return;
        int32_t distance = 0;
        std::memcpy(&distance, at + 1, sizeof distance);
        const uint64_t behind = address + static_cast<uint64_t>(at - begin) + kCallBytes;
        const uint64_t target = behind + static_cast<uint64_t>(static_cast<int64_t>(distance));
        const auto found = std::ranges::lower_bound(entries, target);
        if (found == entries.end() || *found != target) continue;
        uses[static_cast<size_t>(found - entries.begin())] |= uses_behind({at + kCallBytes, end});
    }
}

}  // namespace strobe::symbols
