#include "dwarf/lines/line_program.h"

namespace strobe::dwarf {
namespace {

enum Standard : uint8_t {
    kCopy = 1,
    kAdvancePc,
    kAdvanceLine,
    kSetFile,
    kSetColumn,
    kNegateStatement,
    kSetBasicBlock,
    kConstAddPc,
    kFixedAdvancePc,
    kSetPrologueEnd,
    kSetEpilogueBegin,
    kSetIsa,
};
enum Extended : uint8_t { kEndOfSequence = 1, kSetAddress = 2 };

constexpr size_t kMaxRows = 4 << 20;  // of one unit; the largest known ones have a fiftieth of it

// The state machine of section 6.2.2.
class Machine {
  public:
    Machine(const LineHeader& header, const Sections& sections)
        : header_(header),
          cursor_(sections.line.first(header.end), header.program),
          has_code_at_zero_(sections.has_code_at_zero) {
        reset();
    }

    std::vector<LineRow> run() {
        while (cursor_.left() > 0) {
            const uint8_t opcode = cursor_.u8();
            if (opcode >= header_.opcode_base) {
                special(opcode);
            } else if (opcode == 0) {
                extended();
            } else {
                standard(opcode);
            }
        }
        rows_.resize(sequence_);  // one that does not end has no range
        return std::move(rows_);
    }

  private:
    void reset() { state_ = {0, 1, 1, 0, header_.default_is_stmt ? uint8_t{LineRow::kIsStatement} : uint8_t{0}}; }

    void emit() {
        if (rows_.size() >= kMaxRows) throw DwarfError("a line program of too many rows");
        rows_.push_back(state_);
        state_.flags &= LineRow::kIsStatement;
    }

    void advance(uint64_t operations) { state_.address += operations * header_.min_instruction_length; }

    void special(uint8_t opcode) {
        const unsigned adjusted = opcode - header_.opcode_base;
        advance(adjusted / header_.line_range);
        state_.line += static_cast<uint32_t>(header_.line_base + static_cast<int>(adjusted % header_.line_range));
        emit();
    }

    void extended() {
        const uint64_t length = cursor_.uleb();
        const uint64_t start = cursor_.position();
        if (length == 0) return;
        const uint8_t opcode = cursor_.u8();
        if (opcode == kEndOfSequence) {
            state_.flags |= LineRow::kEndSequence;
            emit();
            end_sequence();
        } else if (opcode == kSetAddress) {
            if (length - 1 > 8) throw DwarfError("an address of over 8 bytes");
            state_.address = cursor_.fixed(static_cast<unsigned>(length - 1));
        }
        const uint64_t read = cursor_.position() - start;
        if (read > length) throw DwarfError("an instruction that is longer than it says");
        cursor_.skip(length - read);
    }

    // The linker gives sequences of code that it threw away address 0, or one that no code can have.
    void end_sequence() {
        const uint64_t first = rows_[sequence_].address;
        const uint64_t last = header_.address_size == 4 ? UINT32_MAX : UINT64_MAX;
        if ((first == 0 && !has_code_at_zero_) || first >= last - 1) rows_.resize(sequence_);
        sequence_ = rows_.size();
        reset();
    }

    void standard(uint8_t opcode) {
        switch (opcode) {
            case kCopy:
                return emit();
            case kAdvancePc:
                return advance(cursor_.uleb());
            case kAdvanceLine:
                state_.line += static_cast<uint32_t>(cursor_.sleb());
                return;
            case kSetFile:
                state_.file = static_cast<uint32_t>(cursor_.uleb());
                return;
            case kSetColumn:
                state_.column = static_cast<uint32_t>(cursor_.uleb());
                return;
            case kNegateStatement:
                state_.flags ^= LineRow::kIsStatement;
                return;
            case kConstAddPc:
                return advance((255u - header_.opcode_base) / header_.line_range);
            case kFixedAdvancePc:
                state_.address += cursor_.fixed(2);
                return;
            case kSetPrologueEnd:
                state_.flags |= LineRow::kPrologueEnd;
                return;
            default:
                for (unsigned left = header_.operand_counts[opcode - 1]; left > 0; --left) cursor_.skip_leb();
        }
    }

    const LineHeader& header_;
    Cursor cursor_;
    bool has_code_at_zero_;
    std::vector<LineRow> rows_;
    size_t sequence_ = 0;  // where the one that is being read begins
    LineRow state_{};
};

}  // namespace

std::vector<LineRow> line_rows(const Units& units, const Unit& unit) {
    const LineHeader header(units, unit);
    if (header.program > header.end) throw DwarfError("a line header that is longer than its program");
    return Machine(header, units.sections_of(unit)).run();
}

}  // namespace strobe::dwarf
