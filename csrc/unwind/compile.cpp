#include "unwind/compile.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include "symbols/frame_cursor.h"
#include "unwind/table.h"

namespace strobe::unwind {

namespace {

using symbols::Damaged;
using symbols::FrameCursor;
using Block = std::span<const std::uint8_t>;

constexpr std::uint32_t kLongFormat = 0xffffffff;
constexpr std::uint64_t kReturnAddress = 16;
constexpr std::size_t kMostRules = 65535, kMostRemembered = 64;
// DW_OP_breg7 8; breg16 0; lit15; and; lit N; ge; lit3; shl; plus: what linkers write for their tables of jumps
constexpr std::array<std::uint8_t, 5> kPltBegin = {0x77, 0x08, 0x80, 0x00, 0x3f};
constexpr std::array<std::uint8_t, 4> kPltEnd = {0x2a, 0x33, 0x24, 0x22};
constexpr std::uint8_t kLit0 = 0x30, kLit31 = 0x4f, kAnd = 0x1a, kBreg0 = 0x70, kBreg31 = 0x8f, kDeref = 0x06;

// Where a caller's register is.
struct Place {
    enum Kind : std::uint8_t { Same, AtCfa, AtRegister, Undefined, Other } kind = Same;
    std::uint64_t reg = 0;  // of AtRegister
    std::int64_t offset = 0;
};

// What holds from one address on.
struct State {
    std::uint8_t cfa_kind = STROBE_UNWIND_UNKNOWN;
    std::uint8_t plt_limit = 0;
    std::uint64_t cfa_register = 0;
    std::int64_t cfa_offset = 0;
    Place rbp;
    Place return_address;
};

struct Common {
    std::uint64_t code_alignment = 1;
    std::int64_t data_alignment = 1;
    std::uint8_t encoding = 0;
    bool is_signal = false;
    bool has_augmentation = false;
    State initial;
};

// `is_end`: of an entry's code; where another one begins there, that counts.
struct Row {
    std::uint64_t address;
    std::uint16_t rule;
    bool is_end;
};

struct Breg {
    std::uint64_t reg;
    std::int64_t offset;
    bool is_deref;
};

// A register plus an offset, and perhaps what lies there.
std::optional<Breg> breg_of(Block block) {
    if (block.empty() || block[0] < kBreg0 || block[0] > kBreg31) return std::nullopt;
    FrameCursor cursor(block, 0, 1);
    Breg found{static_cast<std::uint64_t>(block[0] - kBreg0), cursor.sleb(), false};
    if (cursor.position() < block.size()) {
        if (cursor.number(1) != kDeref) return std::nullopt;
        found.is_deref = true;
    }
    return cursor.position() == block.size() ? std::optional(found) : std::nullopt;
}

// The N of a linkage table's expression.
std::optional<std::uint8_t> plt_limit_of(Block block) {
    if (block.size() != kPltBegin.size() + 2 + kPltEnd.size()) return std::nullopt;
    const std::uint8_t limit = block[6];
    const bool is_one = std::ranges::equal(block.first(kPltBegin.size()), kPltBegin) && block[5] == kAnd &&
                        std::ranges::equal(block.last(kPltEnd.size()), kPltEnd) && limit >= kLit0 && limit <= kLit31;
    return is_one ? std::optional<std::uint8_t>(limit - kLit0) : std::nullopt;
}

bool fits(std::int64_t offset) { return offset == static_cast<std::int32_t>(offset); }

// Runs the instructions of one entry (DWARF 5, section 6.4.2).
template <typename Emit>
class Program {
  public:
    Program(const Common& common, State state, std::uint64_t address, Emit& emit)
        : common_(common), state_(state), address_(address), emit_(emit) {}

    const State& state() const { return state_; }

    void run(FrameCursor cursor, std::size_t end) {
        while (cursor.position() < end) step(cursor);
    }

    void finish() { emit_(address_, state_); }

  private:
    void step(FrameCursor& cursor) {
        const auto op = static_cast<std::uint8_t>(cursor.number(1));
        switch (op & 0xc0) {
            case 0x40:
                advance(op & 0x3f);
                return;
            case 0x80:
                set(op & 0x3f, at_cfa(static_cast<std::int64_t>(cursor.uleb())));
                return;
            case 0xc0:
                restore(op & 0x3f);
                return;
            default:
                long_step(op, cursor);
        }
    }

    void long_step(std::uint8_t op, FrameCursor& cursor) {
        switch (op) {
            case 0x00:  // DW_CFA_nop
                return;
            case 0x01:  // set_loc
                emit_(address_, state_);
                address_ = cursor.pointer(common_.encoding);
                return;
            case 0x02:
            case 0x03:
            case 0x04:  // advance_loc1, 2, 4
                advance(cursor.number(std::size_t{1} << (op - 2)));
                return;
            case 0x05: {  // offset_extended
                const std::uint64_t reg = cursor.uleb();
                set(reg, at_cfa(static_cast<std::int64_t>(cursor.uleb())));
                return;
            }
            case 0x06:  // restore_extended
                restore(cursor.uleb());
                return;
            case 0x07:  // undefined
                set(cursor.uleb(), {Place::Undefined});
                return;
            case 0x08:  // same_value
                set(cursor.uleb(), {Place::Same});
                return;
            case 0x09: {  // register
                const std::uint64_t reg = cursor.uleb();
                cursor.uleb();
                set(reg, {Place::Other});
                return;
            }
            case 0x0a:  // remember_state
                if (remembered_.size() >= kMostRemembered) throw Damaged();
                remembered_.push_back(state_);
                return;
            case 0x0b:  // restore_state
                if (remembered_.empty()) throw Damaged();
                state_ = remembered_.back();
                remembered_.pop_back();
                return;
            default:
                cfa_step(op, cursor);
        }
    }

    void cfa_step(std::uint8_t op, FrameCursor& cursor) {
        switch (op) {
            case 0x0c:    // def_cfa
            case 0x12: {  // def_cfa_sf
                const std::uint64_t reg = cursor.uleb();
                const std::int64_t offset =
                    op == 0x0c ? static_cast<std::int64_t>(cursor.uleb()) : cursor.sleb() * common_.data_alignment;
                define(reg, offset);
                return;
            }
            case 0x0d:  // def_cfa_register
                define(cursor.uleb(), state_.cfa_offset);
                return;
            case 0x0e:  // def_cfa_offset
                define(state_.cfa_register, static_cast<std::int64_t>(cursor.uleb()));
                return;
            case 0x13:  // def_cfa_offset_sf
                define(state_.cfa_register, cursor.sleb() * common_.data_alignment);
                return;
            case 0x0f:  // def_cfa_expression
                define(cursor.block(cursor.uleb()));
                return;
            case 0x10:    // expression
            case 0x16: {  // val_expression
                const std::uint64_t reg = cursor.uleb();
                const auto found = breg_of(cursor.block(cursor.uleb()));
                const bool is_plain = op == 0x10 && found && !found->is_deref;
                set(reg, is_plain ? Place{Place::AtRegister, found->reg, found->offset} : Place{Place::Other});
                return;
            }
            case 0x11: {  // offset_extended_sf
                const std::uint64_t reg = cursor.uleb();
                set(reg, at_cfa(cursor.sleb()));
                return;
            }
            case 0x14:    // val_offset
            case 0x15: {  // val_offset_sf
                const std::uint64_t reg = cursor.uleb();
                cursor.uleb();  // as long as the signed one
                set(reg, {Place::Other});
                return;
            }
            case 0x2e:  // GNU_args_size
                cursor.uleb();
                return;
            case 0x2f: {  // GNU_negative_offset_extended
                const std::uint64_t reg = cursor.uleb();
                set(reg, at_cfa(-static_cast<std::int64_t>(cursor.uleb())));
                return;
            }
            default:
                throw Damaged();
        }
    }

    Place at_cfa(std::int64_t factored) const { return {Place::AtCfa, 0, factored * common_.data_alignment}; }

    void advance(std::uint64_t units) {
        emit_(address_, state_);
        address_ += units * common_.code_alignment;
    }

    void set(std::uint64_t reg, Place place) {
        if (reg == STROBE_UNWIND_RBP) state_.rbp = place;
        if (reg == kReturnAddress) state_.return_address = place;
    }

    void restore(std::uint64_t reg) {
        if (reg == STROBE_UNWIND_RBP) state_.rbp = common_.initial.rbp;
        if (reg == kReturnAddress) state_.return_address = common_.initial.return_address;
    }

    void define(std::uint64_t reg, std::int64_t offset) {
        state_.cfa_kind = STROBE_UNWIND_REGISTER;
        state_.cfa_register = reg;
        state_.cfa_offset = offset;
    }

    void define(Block expression) {
        const auto found = breg_of(expression);
        const auto limit = plt_limit_of(expression);
        state_.cfa_kind = STROBE_UNWIND_UNKNOWN;
        if (limit) {
            state_.cfa_kind = STROBE_UNWIND_PLT;
            state_.plt_limit = *limit;
        } else if (found) {
            state_.cfa_kind = found->is_deref ? STROBE_UNWIND_DEREF : STROBE_UNWIND_REGISTER;
            state_.cfa_register = found->reg;
            state_.cfa_offset = found->offset;
        }
    }

    const Common& common_;
    State state_;
    std::uint64_t address_;
    Emit& emit_;
    std::vector<State> remembered_;
};

strobe_unwind_rule rule_of(const State& state, bool is_signal) {
    strobe_unwind_rule rule{};
    if (state.return_address.kind == Place::Undefined) {
        rule.cfa_kind = STROBE_UNWIND_OUTERMOST;
        return rule;
    }
    if (is_signal) {  // the kernel's frame: nothing else has this mark but what calls rt_sigreturn
        if (state.cfa_kind == STROBE_UNWIND_DEREF && state.cfa_register == STROBE_UNWIND_RSP)
            rule.cfa_kind = STROBE_UNWIND_SIGNAL;
        return rule;
    }
    const bool has_return = state.return_address.kind == Place::AtCfa && state.return_address.offset == -8;
    if (!has_return || state.cfa_register > kReturnAddress || !fits(state.cfa_offset)) return rule;
    rule.cfa_kind = state.cfa_kind;
    if (state.cfa_kind == STROBE_UNWIND_PLT) {
        rule.plt_limit = state.plt_limit;
    } else {
        rule.cfa_register = static_cast<std::uint8_t>(state.cfa_register);
        rule.cfa_offset = static_cast<std::int32_t>(state.cfa_offset);
    }
    const Place& rbp = state.rbp;
    if (rbp.kind == Place::Same || rbp.kind == Place::Undefined) {
        rule.rbp_kind = rbp.kind == Place::Same ? STROBE_UNWIND_SAME : STROBE_UNWIND_LOST;
    } else if (rbp.kind == Place::AtCfa && fits(rbp.offset)) {
        rule.rbp_kind = STROBE_UNWIND_AT_CFA;
        rule.rbp_offset = static_cast<std::int32_t>(rbp.offset);
    } else if (rbp.kind == Place::AtRegister && rbp.reg == STROBE_UNWIND_RBP && fits(rbp.offset)) {
        rule.rbp_kind = STROBE_UNWIND_AT_RBP;
        rule.rbp_offset = static_cast<std::int32_t>(rbp.offset);
    } else {
        rule.rbp_kind = STROBE_UNWIND_LOST;
    }
    return rule;
}

class Compiler {
  public:
    Compiler(Block section, std::uint64_t address, std::uint64_t start, std::uint64_t size)
        : section_(section), address_(address), start_(start), end_(start + size) {
        number_of(strobe_unwind_rule{});
    }

    void entries() {
        for (std::size_t offset = 0; offset + 4 <= section_.size();) {
            FrameCursor entry(section_, address_, offset);
            std::uint64_t length = entry.number(4);
            if (length == kLongFormat) length = entry.number(8);
            const std::size_t begin = entry.position();
            if (length == 0 || length > section_.size() - begin) return;  // the last one
            offset = begin + length;
            const std::uint64_t link = entry.number(4);
            if (link == 0 || link > begin) continue;
            try {
                describe(entry, common_at(begin - link), offset);
            } catch (const Damaged&) {  // the others have their own lengths
            }
        }
    }

    std::vector<std::uint8_t> table() {
        std::ranges::stable_sort(rows_, [](const Row& one, const Row& other) {
            return one.address != other.address ? one.address < other.address : one.is_end && !other.is_end;
        });
        std::vector<Row> kept;
        for (const Row& row : rows_) {  // of several at one address the last one
            if (!kept.empty() && kept.back().address == row.address) kept.pop_back();
            if (kept.empty() || kept.back().rule != row.rule) kept.push_back(row);
        }
        return packed(kept);
    }

  private:
    const Common& common_at(std::size_t offset) {
        const auto known = commons_.find(offset);
        if (known != commons_.end()) return known->second;
        FrameCursor cursor(section_, address_, offset);
        std::uint64_t length = cursor.number(4);
        if (length == kLongFormat) length = cursor.number(8);
        const std::size_t end = cursor.position() + length;
        if (cursor.number(4) != 0 || end > section_.size()) throw Damaged();
        return commons_.emplace(offset, read_common(cursor, end)).first->second;
    }

    Common read_common(FrameCursor& cursor, std::size_t end) const {
        Common common;
        const std::uint64_t version = cursor.number(1);
        const std::string_view augmentation = cursor.text();
        if (version >= 4) cursor.number(2);  // sizes of addresses and segments
        common.code_alignment = cursor.uleb();
        common.data_alignment = cursor.sleb();
        if ((version == 1 ? cursor.number(1) : cursor.uleb()) != kReturnAddress) throw Damaged();
        common.has_augmentation = augmentation.starts_with('z');
        if (!common.has_augmentation && !augmentation.empty()) throw Damaged();
        if (common.has_augmentation) cursor.uleb();
        for (const char letter : augmentation) {
            if (letter == 'R') {
                common.encoding = static_cast<std::uint8_t>(cursor.number(1));
            } else if (letter == 'L') {
                cursor.number(1);
            } else if (letter == 'P') {
                cursor.skip_pointer(static_cast<std::uint8_t>(cursor.number(1)));
            } else if (letter == 'S') {
                common.is_signal = true;
            } else if (letter != 'z' && letter != 'B') {
                throw Damaged();
            }
        }
        const auto nothing = [](std::uint64_t, const State&) {};
        Program program(common, State(), 0, nothing);
        program.run(cursor, end);
        common.initial = program.state();
        return common;
    }

    void describe(FrameCursor entry, const Common& common, std::size_t end) {
        const std::uint64_t first = entry.pointer(common.encoding);
        const std::uint64_t bytes = entry.pointer(common.encoding & 0x0f);
        if (first < start_ || bytes == 0 || bytes > end_ - first || first >= end_) return;
        if (common.has_augmentation) entry.block(entry.uleb());
        const auto emit = [&](std::uint64_t address, const State& state) {
            if (address >= first && address < first + bytes)
                rows_.push_back({address, number_of(rule_of(state, common.is_signal)), false});
        };
        const std::size_t before = rows_.size();
        rows_.push_back({first + bytes, 0, true});
        try {
            Program program(common, common.initial, first, emit);
            program.run(entry, end);
            program.finish();
        } catch (const Damaged&) {
            rows_.resize(before);
        }
    }

    std::uint16_t number_of(const strobe_unwind_rule& rule) {
        std::array<std::uint8_t, sizeof rule> key{};
        std::memcpy(key.data(), &rule, sizeof rule);
        const auto known = numbers_.find(key);
        if (known != numbers_.end()) return known->second;
        if (rules_.size() >= kMostRules) return 0;
        rules_.push_back(rule);
        return numbers_[key] = static_cast<std::uint16_t>(rules_.size() - 1);
    }

    std::vector<std::uint8_t> packed(const std::vector<Row>& rows) const {
        strobe_unwind_table head{};
        head.row_count = static_cast<std::uint32_t>(rows.size());
        head.rule_count = static_cast<std::uint32_t>(rules_.size());
        head.rules_of = static_cast<std::uint32_t>(sizeof head + 4 * rows.size());
        head.rules = (head.rules_of + 2 * head.row_count + 15) / 16 * 16;
        std::vector<std::uint8_t> bytes(head.rules + sizeof(strobe_unwind_rule) * rules_.size());
        std::memcpy(bytes.data(), &head, sizeof head);
        for (std::size_t index = 0; index < rows.size(); index++) {
            const auto offset = static_cast<std::uint32_t>(rows[index].address - start_);
            std::memcpy(bytes.data() + sizeof head + 4 * index, &offset, sizeof offset);
            std::memcpy(bytes.data() + head.rules_of + 2 * index, &rows[index].rule, sizeof(std::uint16_t));
        }
        std::memcpy(bytes.data() + head.rules, rules_.data(), sizeof(strobe_unwind_rule) * rules_.size());
        return bytes;
    }

    Block section_;
    std::uint64_t address_, start_, end_;
    std::vector<Row> rows_;
    std::vector<strobe_unwind_rule> rules_;
    std::map<std::array<std::uint8_t, sizeof(strobe_unwind_rule)>, std::uint16_t> numbers_;
    std::map<std::size_t, Common> commons_;
};

}  // namespace

std::vector<std::uint8_t> compile(std::span<const std::uint8_t> section, std::uint64_t address, std::uint64_t start,
                                  std::uint64_t size) {
    Compiler compiler(section, address, start, std::min<std::uint64_t>(size, std::uint32_t(-1)));
    try {
        compiler.entries();
    } catch (const Damaged&) {  // what came before is right
    }
    return compiler.table();
}

}  // namespace strobe::unwind
