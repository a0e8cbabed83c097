#include "symbols/result_uses.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>

#include "symbols/instruction_length.h"
#include "symbols/instructions.h"

namespace strobe::symbols {

namespace {

constexpr uint8_t kCall = 0xe8;
constexpr size_t kDistanceBytes = 4;  // of calls, and of jumps to another function
constexpr int kLooked = 4;            // instructions behind a call

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

// An instruction from its opcode on.
std::span<const uint8_t> without_prefixes(std::span<const uint8_t> instruction) {
    constexpr std::string_view kPrefixes = "\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3";
    while (instruction.size() > 1 && kPrefixes.find(static_cast<char>(instruction[0])) != kPrefixes.npos)
        instruction = instruction.subspan(1);
    return instruction.size() > 1 && (instruction[0] & 0xf0) == 0x40 ? instruction.subspan(1) : instruction;
}

// A direct call, and what is read behind it.
struct Site {
    size_t behind;
    size_t callee;
    uint8_t uses;
};

// Goes through code from function to function. Places are bytes from its beginning.
class Walk {
  public:
    Walk(const CallersCode& code, std::span<const uint64_t> entries, std::span<uint8_t> uses)
        : code_(code), entries_(entries), uses_(uses) {}

    void run() {
        const uint64_t end = code_.address + code_.bytes.size();
        auto entry = std::ranges::lower_bound(entries_, code_.address);
        for (; entry != entries_.end() && *entry < end; ++entry) {
            const auto next = std::next(entry);
            const uint64_t behind = next == entries_.end() ? end : std::min(*next, end);
            over_function(*entry - code_.address, behind - code_.address);
        }
        std::ranges::sort(landings_);
        for (const Site& site : undecided_)
            if (!std::ranges::binary_search(landings_, site.behind)) uses_[site.callee] |= site.uses;
    }

  private:
    void over_function(size_t start, size_t stop) {
        const size_t before = undecided_.size();
        bool is_known = true;  // where its jumps go to
        size_t size = 0;
        for (size_t at = start; at < stop; at += size) {
            const std::span<const uint8_t> rest = code_.bytes.subspan(at, stop - at);
            size = instruction_length(rest);
            if (size == 0) {
                is_known = false;
                break;
            }
            const std::span<const uint8_t> bare = without_prefixes(rest.first(size));
            if (bare[0] == kCall) {
                note_call(rest.subspan(size), at + size);
            } else if (!code_.has_traps) {
                is_known = note_jump(bare, at + size) && is_known;
            }
        }
        if (!is_known) undecided_.resize(before);
    }

    void note_call(std::span<const uint8_t> rest, size_t behind) {
        const uint64_t target = code_.address + target_of(behind, kDistanceBytes);
        const auto found = std::ranges::lower_bound(entries_, target);
        if (found == entries_.end() || *found != target) return;
        const auto callee = static_cast<size_t>(found - entries_.begin());
        uses_[callee] |= kIsCalled;
        const uint8_t uses = uses_behind(rest);
        if ((uses & ~uses_[callee]) == 0) return;
        if (code_.has_traps) {
            uses_[callee] |= uses;
        } else {
            undecided_.push_back({behind, callee, uses});
        }
    }

    // `instruction`: without prefixes. False for a jump to where a register or memory says.
    bool note_jump(std::span<const uint8_t> instruction, size_t behind) {
        constexpr uint8_t kGroup = 0xff, kOfGroup = 0x38, kNearJump = 0x20, kFarJump = 0x28;
        const uint8_t first = instruction[0], second = instruction.size() > 1 ? instruction[1] : uint8_t{0};
        const bool is_short = (first & 0xf0) == 0x70 || (first & 0xfc) == 0xe0 || first == 0xeb;
        if (is_short) landings_.push_back(target_of(behind, 1));
        if (first == 0xe9 || (first == 0x0f && (second & 0xf0) == 0x80))
            landings_.push_back(target_of(behind, kDistanceBytes));
        return first != kGroup || ((second & kOfGroup) != kNearJump && (second & kOfGroup) != kFarJump);
    }

    // Where an instruction goes to that ends at `behind` with a distance of so many bytes.
    size_t target_of(size_t behind, size_t bytes) const {
        if (bytes == 1) return behind + static_cast<size_t>(static_cast<int8_t>(code_.bytes[behind - 1]));
        int32_t distance = 0;
        std::memcpy(&distance, &code_.bytes[behind - kDistanceBytes], sizeof distance);
        return behind + static_cast<size_t>(static_cast<int64_t>(distance));
    }

    const CallersCode& code_;
    const std::span<const uint64_t> entries_;
    const std::span<uint8_t> uses_;
    std::vector<Site> undecided_;   // what may be reached without the call
    std::vector<size_t> landings_;  // of direct jumps
};

}  // namespace

void add_result_uses(const CallersCode& code, std::span<const uint64_t> entries, std::span<uint8_t> uses) {
    Walk(code, entries, uses).run();
}

}  // namespace strobe::symbols
