#include "symbols/jumps/beginnings.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "symbols/instruction_length.h"

namespace strobe::symbols {

namespace {

using Range = std::pair<uint64_t, uint64_t>;

constexpr uint64_t kJumpBytes = 5;  // of a hook
constexpr std::array<uint8_t, 4> kEndbr64 = {0xf3, 0x0f, 0x1e, 0xfa};
constexpr uint64_t kMostCode = uint64_t{1} << 30;
constexpr uint64_t kMostTableEntries = 65536;
constexpr uint64_t kFarBefore = 64, kNearBefore = 16;  // where decoding begins in code without frames
constexpr uint64_t kRelative = 8;                      // R_X86_64_RELATIVE
constexpr size_t kRelaBytes = 24, kWordBytes = 8;

enum Kind : uint8_t { kOther, kShort, kLong, kTwoBytes, kAddress };

constexpr std::array<uint8_t, 256> kinds() {
    std::array<uint8_t, 256> all{};
    for (size_t opcode = 0x70; opcode < 0x80; ++opcode) all[opcode] = kShort;
    for (size_t opcode = 0xe0; opcode < 0xe4; ++opcode) all[opcode] = kShort;  // loop, jrcxz
    all[0xeb] = kShort;
    all[0xe8] = all[0xe9] = kLong;
    all[0x0f] = kTwoBytes;
    all[0x8d] = kAddress;
    return all;
}

constexpr std::array<uint8_t, 256> kKinds = kinds();

template <typename Number>
Number number_at(std::span<const uint8_t> bytes, size_t at) {
    Number value;
    std::memcpy(&value, &bytes[at], sizeof value);
    return value;
}

bool is_prefix(uint8_t byte) {
    const bool is_segment = (byte & 0xe7) == 0x26 || byte == 0x64 || byte == 0x65;
    return is_segment || byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 || (byte & 0xf0) == 0x40;
}

// A bit for each address of some code.
class Places {
  public:
    Places(uint64_t start, uint64_t end) : start_(start), bits_((end - start + 63) / 64) {}

    void add(uint64_t address) {
        const uint64_t place = address - start_;
        if (place / 64 < bits_.size()) bits_[place / 64] |= uint64_t{1} << place % 64;
    }
    [[nodiscard]] bool has(uint64_t address) const {
        const uint64_t place = address - start_;
        return place / 64 < bits_.size() && (bits_[place / 64] >> place % 64 & 1) != 0;
    }

  private:
    uint64_t start_;
    std::vector<uint64_t> bits_;
};

class Search {
  public:
    Search(const ModuleImage& image, const FrameRanges& frames, std::span<const Beginning> functions)
        : image_(image),
          frames_(frames),
          functions_(functions),
          found_(functions.size()),
          middles_(code_range().first, code_range().second),
          firsts_(code_range().first, code_range().second) {
        jumps_.reserve(functions.size());
        for (const Beginning& function : functions) add_places(function);
    }

    std::vector<uint8_t> find() {
        for (const LoadedPiece& piece : image_.pieces) {
            if (piece.is_code) look_through(piece);
            if (image_.is_fixed) look_for_addresses(piece.bytes);
        }
        for (size_t at = 0; at + kRelaBytes <= image_.relocations.size(); at += kRelaBytes)
            if (number_at<uint32_t>(image_.relocations, at + 8) == kRelative)
                enter(number_at<uint64_t>(image_.relocations, at + 16));
        look_at_relative();
        return std::move(found_);
    }

  private:
    [[nodiscard]] Range code_range() const {
        Range all{~uint64_t{0}, 0};
        for (const LoadedPiece& piece : image_.pieces) {
            if (!piece.is_code) continue;
            all.first = std::min(all.first, piece.address);
            all.second = std::max(all.second, piece.address + piece.bytes.size());
        }
        if (all.first >= all.second) return {0, 0};
        if (all.second - all.first > kMostCode) throw std::invalid_argument("its code is too far apart");
        return all;
    }

    // Where there is not so much: nothing.
    [[nodiscard]] std::span<const uint8_t> bytes_at(uint64_t address, size_t size) const {
        for (const LoadedPiece& piece : image_.pieces) {
            const uint64_t at = address - piece.address;
            if (at < piece.bytes.size() && piece.bytes.size() - at >= size) return piece.bytes.subspan(at);
        }
        return {};
    }

    void add_places(const Beginning& function) {
        const std::span<const uint8_t> code = bytes_at(function.entry, kEndbr64.size());
        const bool is_marked = function.size >= kEndbr64.size() + kJumpBytes && !code.empty() &&
                               std::equal(kEndbr64.begin(), kEndbr64.end(), code.begin());
        const uint64_t jump = function.entry + (is_marked ? kEndbr64.size() : 0);
        jumps_.push_back(jump);
        firsts_.add(function.entry);
        firsts_.add(jump);
        for (uint64_t behind = 1; behind < kJumpBytes; ++behind) middles_.add(jump + behind);
    }

    // The function that begins last up to there.
    [[nodiscard]] size_t function_at(uint64_t address) const {
        const auto next = std::ranges::upper_bound(functions_, address, {}, &Beginning::entry);
        return static_cast<size_t>(next - functions_.begin()) - 1;
    }

    [[nodiscard]] bool begins_function(uint64_t address) const {
        return std::ranges::binary_search(functions_, address, {}, &Beginning::entry);
    }

    // Of functions that lie close together it may be the entry of one that is in the middle of another.
    void enter(uint64_t target) {
        if (!middles_.has(target)) return;
        constexpr uint64_t kFarthest = kEndbr64.size() + kJumpBytes;
        for (size_t next = function_at(target) + 1; next > 0 && target - functions_[next - 1].entry < kFarthest; --next)
            if (target - jumps_[next - 1] - 1 < kJumpBytes - 1) found_[next - 1] |= kEntered;
    }

    // A number may look like an address: in a table, one next to it leads into the same function.
    void look_for_addresses(std::span<const uint8_t> bytes) {
        for (size_t at = 0; at + kWordBytes <= bytes.size(); at += kWordBytes) {
            const uint64_t target = number_at<uint64_t>(bytes, at);
            if (!middles_.has(target)) continue;
            const std::optional<Range> part = frames_.around(target);
            const auto leads_there = [&](size_t place) {
                if (place > bytes.size() - kWordBytes) return false;
                const uint64_t other = number_at<uint64_t>(bytes, place);
                return part ? other - part->first < part->second - part->first : is_code(other);
            };
            if (leads_there(at - kWordBytes) || leads_there(at + kWordBytes)) enter(target);
        }
    }

    void look_through(const LoadedPiece& piece) {
        const std::span<const uint8_t> code = piece.bytes;
        part_ = ~size_t{0};
        for (size_t at = 0; at < code.size(); ++at) {
            const size_t left = code.size() - at;
            switch (kKinds[code[at]]) {
                case kShort:
                    if (left >= 2) jump(piece, at, 2, static_cast<int8_t>(code[at + 1]), false);
                    break;
                case kLong:
                    if (left >= 5) jump(piece, at, 5, number_at<int32_t>(code, at + 1), code[at] == 0xe8);
                    break;
                case kTwoBytes:
                    if (left >= 6 && (code[at + 1] & 0xf0) == 0x80)
                        jump(piece, at, 6, number_at<int32_t>(code, at + 2), false);
                    break;
                case kAddress:  // lea of what lies so far from here
                    if (left >= 6 && (code[at + 1] & 0xc7) == 0x05)
                        take(piece, at,
                             piece.address + at + 6 + static_cast<uint64_t>(number_at<int32_t>(code, at + 2)));
                    break;
                default:
                    break;
            }
        }
    }

    void jump(const LoadedPiece& piece, size_t at, size_t size, int64_t distance, bool is_call) {
        const uint64_t from = piece.address + at;
        const uint64_t target = from + size + static_cast<uint64_t>(distance);
        if (middles_.has(target)) {
            if (is_instruction(piece, at)) enter(target);
        } else if (!is_call && firsts_.has(target)) {
            const std::optional<Range> part = frames_.around(from);
            if (part && !begins_function(part->first) && is_instruction(piece, at))
                found_[function_at(target)] |= kLooped;
        }
    }

    // The code takes an address: of a table of distances from there, or of a label, from which it may go anywhere.
    void take(const LoadedPiece& piece, size_t at, uint64_t address) {
        if (middles_.has(address) && is_instruction(piece, at)) enter(address);
        take_label(piece, at, address);
        std::span<const uint8_t> table = bytes_at(address, 4);
        std::optional<uint64_t> owner = function_of(piece.address + at);
        for (uint64_t number = 0; number < kMostTableEntries && table.size() >= 4; ++number) {
            const uint64_t target = address + static_cast<uint64_t>(number_at<int32_t>(table, 0));
            if (!is_code(target)) break;
            const std::optional<uint64_t> function = function_of(target);
            if (owner && function && *owner != *function) break;  // behind the table's end
            owner = owner ? owner : function;
            if (middles_.has(target) && is_instruction(piece, at)) enter(target);
            table = table.subspan(4);
        }
    }

    // Where that begins; nothing where frames do not say, or say that it is a part of one.
    [[nodiscard]] std::optional<uint64_t> function_of(uint64_t address) const {
        const std::optional<Range> part = frames_.around(address);
        return part && begins_function(part->first) ? std::optional(part->first) : std::nullopt;
    }

    // Only code of the function itself, or a part of it, goes on from one of its labels to others.
    void take_label(const LoadedPiece& piece, size_t at, uint64_t address) {
        if (!is_code(address) || firsts_.has(address)) return;
        const std::optional<uint64_t> owner = function_of(address);
        if (!owner || *owner == address) return;
        const std::optional<uint64_t> taker = function_of(piece.address + at);
        if ((!taker || *taker == *owner) && is_instruction(piece, at)) found_[function_at(*owner)] |= kEntered;
    }

    [[nodiscard]] bool is_code(uint64_t address) const {
        return std::ranges::any_of(image_.pieces, [address](const LoadedPiece& piece) {
            return piece.is_code && address - piece.address < piece.bytes.size();
        });
    }

    // Whether the byte there is the opcode of an instruction; also where that is not known.
    bool is_instruction(const LoadedPiece& piece, size_t at) {
        const std::optional<Range> part = frames_.around(piece.address + at);
        if (!part || part->first < piece.address) return may_be_instruction(piece, at);
        const size_t start = part->first - piece.address;
        if (start != part_ || decoded_ > at) {
            part_ = start;
            decoded_ = start;
        }
        return reaches(piece, decoded_, at).value_or(true);
    }

    // Whether decoding from `from` on, which is moved to the last instruction up to there, comes to the opcode at `at`;
    // nothing where it comes to what is no instruction before.
    static std::optional<bool> reaches(const LoadedPiece& piece, size_t& from, size_t at) {
        for (;;) {
            const size_t length = instruction_length(piece.bytes.subspan(from));
            if (length == 0) return std::nullopt;
            if (from + length > at) break;
            from += length;
        }
        return std::all_of(piece.bytes.begin() + static_cast<std::ptrdiff_t>(from),
                           piece.bytes.begin() + static_cast<std::ptrdiff_t>(at), is_prefix);
    }

    // Decoding finds into the instructions within a few of them, wherever it begins.
    static bool may_be_instruction(const LoadedPiece& piece, size_t at) {
        const size_t first = at - std::min<size_t>(at, kFarBefore), last = at - std::min<size_t>(at, kNearBefore);
        for (size_t start = first; start <= last; ++start) {
            size_t from = start;
            if (reaches(piece, from, at).value_or(false)) return true;
        }
        return false;
    }

    // An even entry is where a word lies that is an address, an odd one has a bit for each of the 63 words behind.
    void look_at_relative() {
        uint64_t next = 0;
        for (size_t at = 0; at + kWordBytes <= image_.relative_relocations.size(); at += kWordBytes) {
            const uint64_t entry = number_at<uint64_t>(image_.relative_relocations, at);
            if ((entry & 1) == 0) {
                enter_word(entry);
                next = entry + kWordBytes;
                continue;
            }
            for (uint64_t bit = 1; bit < 64; ++bit)
                if ((entry >> bit & 1) != 0) enter_word(next + (bit - 1) * kWordBytes);
            next += 63 * kWordBytes;
        }
    }

    void enter_word(uint64_t address) {
        const std::span<const uint8_t> word = bytes_at(address, kWordBytes);
        if (!word.empty()) enter(number_at<uint64_t>(word, 0));
    }

    const ModuleImage& image_;
    const FrameRanges& frames_;
    const std::span<const Beginning> functions_;
    std::vector<uint8_t> found_;
    std::vector<uint64_t> jumps_;  // where the hook's jump would lie in each
    Places middles_, firsts_;
    size_t part_ = ~size_t{0}, decoded_ = 0;  // in the piece that is looked through
};

}  // namespace

std::vector<uint8_t> beginnings(const ModuleImage& image, const FrameRanges& frames,
                                std::span<const Beginning> functions) {
    return Search(image, frames, functions).find();
}

}  // namespace strobe::symbols
