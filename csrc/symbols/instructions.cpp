#include "symbols/instructions.h"

#include <cstring>

namespace strobe::symbols {

namespace {

constexpr uint8_t kByIp = 5;  // of a base without displacement: relative to the instruction pointer

// How an opcode uses its two operands.
enum Use : uint8_t {
    kNone = 0,
    kReadsReg = 1,
    kReadsRm = 2,
    kWritesReg = 4,
    kWritesRm = 8,
    kVectorReg = 16,
    kVectorRm = 32,
    kIsByte = 64,
    kZeroes = 128,  // where both operands are the same
};
constexpr uint8_t kVectors = kVectorReg | kVectorRm;

}  // namespace

struct Decoder::Form {
    uint8_t use = kNone;
    uint8_t immediate = 0;  // bytes
};

std::optional<Instruction> Decoder::next() {
    const size_t start = offset_;
    found_ = {};
    operand_is_word_ = repeats_ = repeats_not_equal_ = has_base_alone_ = false;
    rex_ = 0;
    if (!prefixes() || !opcode()) return std::nullopt;
    found_.size = offset_ - start;
    return found_;
}

bool Decoder::byte(uint8_t& value) {
    if (offset_ >= code_.size()) return false;
    value = code_[offset_++];
    return true;
}

bool Decoder::prefixes() {
    while (offset_ < code_.size()) {
        const uint8_t value = code_[offset_];
        if (value == 0x66) {
            operand_is_word_ = true;
        } else if (value == 0xf3) {
            repeats_ = true;
        } else if (value == 0xf2) {
            repeats_not_equal_ = true;
        } else if ((value & 0xf0) == 0x40) {
            rex_ = value;
            ++offset_;
            return true;
        } else {
            return true;
        }
        ++offset_;
    }
    return false;
}

bool Decoder::opcode() {
    uint8_t value = 0;
    if (!byte(value)) return false;
    if (value == 0x0f) return byte(value) && two_bytes(value);
    if (value < 0x40) return arithmetic(value);
    const uint8_t word = operand_is_word_ ? 2 : 4;
    if (value >= 0x50 && value <= 0x57) {  // push
        found_.reads |= general(numbered(value & 7, 1));
        found_.writes |= general(kRsp);
        return true;
    }
    switch (value) {
        case 0x63:
            return operands({kReadsRm | kWritesReg});
        case 0x69:
            return operands({kReadsRm | kWritesReg, word});
        case 0x6b:
            return operands({kReadsRm | kWritesReg, 1});
        case 0x80:
            return operands({kReadsRm | kWritesRm | kIsByte, 1});
        case 0x81:
            return operands({kReadsRm | kWritesRm, word});
        case 0x83:
            return operands({kReadsRm | kWritesRm, 1});
        case 0x84:
            return operands({kReadsRm | kReadsReg | kIsByte});
        case 0x85:
            return operands({kReadsRm | kReadsReg});
        case 0x88:
            return operands({kReadsReg | kWritesRm | kIsByte});
        case 0x89:
            return operands({kReadsReg | kWritesRm});
        case 0x8a:
            return operands({kReadsRm | kWritesReg | kIsByte});
        case 0x8b:
            return operands({kReadsRm | kWritesReg});
        case 0x8d:
            return operands({kWritesReg});
        case 0x90:  // nop
            found_.is_padding = true;
            return rex_ == 0;
        case 0x98:
            found_.reads |= general(kRax);
            return true;
        case 0xa8:
            return immediate(1, general(kRax));
        case 0xa9:
            return immediate(word, general(kRax));
        case 0xc0:
            return operands({kReadsRm | kWritesRm | kIsByte, 1});
        case 0xc1:
            return operands({kReadsRm | kWritesRm, 1});
        case 0xc6:
            return operands({kWritesRm | kIsByte, 1});
        case 0xc7:
            return operands({kWritesRm, word});
        case 0xd0:
            return operands({kReadsRm | kWritesRm | kIsByte});
        case 0xd1:
            return operands({kReadsRm | kWritesRm});
        default:
            return value >= 0xb8 && value <= 0xbf && set(value & 7);
    }
}

// add, or, adc, sbb, and, sub, xor, cmp: what two operands of the same register leave may be known.
bool Decoder::arithmetic(uint8_t value) {
    const uint8_t kind = value >> 3, form = value & 7;
    const uint8_t zeroes = kind == 3 || kind == 5 || kind == 6 ? kZeroes : kNone;
    const uint8_t size = form % 2 == 0 ? kIsByte : kNone;
    if (form < 2) return operands({static_cast<uint8_t>(kReadsRm | kReadsReg | kWritesRm | zeroes | size)});
    if (form < 4) return operands({static_cast<uint8_t>(kReadsRm | kReadsReg | kWritesReg | zeroes | size)});
    if (form == 4) return immediate(1, general(kRax));
    return form == 5 && immediate(operand_is_word_ ? 2 : 4, general(kRax));
}

bool Decoder::two_bytes(uint8_t value) {
    if (value >= 0x40 && value <= 0x4f) return operands({kReadsRm | kReadsReg | kWritesReg});  // cmov
    const bool is_plain = !operand_is_word_ && !repeats_ && !repeats_not_equal_;
    switch (value) {
        case 0xb6:
        case 0xbe:
            return operands({kReadsRm | kWritesReg | kIsByte});
        case 0xb7:
        case 0xbf:
            return operands({kReadsRm | kWritesReg});
        case 0xaf:
            return operands({kReadsRm | kReadsReg | kWritesReg});
        case 0xba:
            return operands({kReadsRm | kWritesRm, 1});
        case 0x1e:  // endbr64
        case 0x1f:
            found_.is_padding = true;
            return operands({kNone});
        case 0x10:  // movups, movss, …
        case 0x28:
            return operands({kReadsRm | kWritesReg | kVectors});
        case 0x11:
        case 0x29:
            return operands({kReadsReg | kWritesRm | kVectors});
        case 0x2e:  // ucomiss, comiss
        case 0x2f:
            return operands({kReadsReg | kReadsRm | kVectors});
        case 0x2c:  // cvttss2si, cvtss2si
        case 0x2d:
            return !is_plain && operands({kReadsRm | kWritesReg | kVectorRm});
        case 0x51:  // sqrt, conversions between floats
        case 0x5a:
            return operands({kReadsRm | kWritesReg | kVectors});
        case 0x57:
            return operands({kReadsReg | kReadsRm | kWritesReg | kVectors | kZeroes});
        case 0x54:
        case 0x55:
        case 0x56:
        case 0x58:
        case 0x59:
        case 0x5c:
        case 0x5d:
        case 0x5e:
        case 0x5f:
            return operands({kReadsReg | kReadsRm | kWritesReg | kVectors});
        case 0x7e:
            if (repeats_) return operands({kReadsRm | kWritesReg | kVectors});
            return operand_is_word_ && operands({kReadsReg | kWritesRm | kVectorReg});
        case 0xd6:
            return operand_is_word_ && operands({kReadsReg | kWritesRm | kVectors});
        default:
            return false;
    }
}

bool Decoder::set(uint8_t low) {  // mov register, immediate
    found_.writes |= general(numbered(low, 1));
    return skip((rex_ & 8) != 0 ? 8 : operand_is_word_ ? 2 : 4);
}

bool Decoder::immediate(uint8_t bytes, Registers reads) {
    found_.reads |= reads;
    found_.writes |= reads;
    return skip(bytes);
}

bool Decoder::skip(size_t bytes) {
    if (code_.size() - offset_ < bytes) return false;
    offset_ += bytes;
    return true;
}

// With a bit of the REX prefix as the fourth.
uint8_t Decoder::numbered(uint8_t low, uint8_t bit) const {
    return static_cast<uint8_t>(low | ((rex_ & bit) != 0 ? 8 : 0));
}

bool Decoder::operands(Form form) {
    uint8_t modrm = 0;
    if (!byte(modrm)) return false;
    const uint8_t mod = modrm >> 6;
    const uint8_t reg = numbered((modrm >> 3) & 7, 4), rm = numbered(modrm & 7, 1);
    const bool is_memory = mod != 3;
    const bool is_same = !is_memory && reg == rm && (form.use & kZeroes) != 0;
    use(reg, (form.use & kReadsReg) != 0 && !is_same, (form.use & kWritesReg) != 0, (form.use & kVectorReg) != 0, form);
    const Registers read = found_.reads;
    if (is_memory && !address(mod, modrm & 7)) return false;
    constexpr uint8_t kStore = kReadsReg | kWritesRm;
    if (is_memory && has_base_alone_ && (form.use & (kStore | kReadsRm)) == kStore) found_.stored = read;
    if (!is_memory)
        use(rm, (form.use & kReadsRm) != 0 && !is_same, (form.use & kWritesRm) != 0, (form.use & kVectorRm) != 0, form);
    return skip(form.immediate);
}

void Decoder::use(uint8_t number, bool is_read, bool is_written, bool is_vector, Form form) {
    // without REX, byte registers 4 to 7 are the second bytes of the first four
    const bool is_second = !is_vector && (form.use & kIsByte) != 0 && rex_ == 0 && number >= 4;
    const Registers one = is_vector ? vector(number) : general(is_second ? number - 4 : number);
    if (is_read && !is_second) found_.reads |= one;
    if (is_written) found_.writes |= one;
}

bool Decoder::address(uint8_t mod, uint8_t low) {
    uint8_t base = low;
    has_base_alone_ = true;
    if (low == kRsp) {
        uint8_t sib = 0;
        if (!byte(sib)) return false;
        const uint8_t index = numbered((sib >> 3) & 7, 2);
        if (index != kRsp) found_.reads |= general(index);
        has_base_alone_ = index == kRsp;
        base = sib & 7;
    }
    if (mod == 0 && base == kByIp) {
        has_base_alone_ = false;
        return skip(4);
    }
    found_.base = numbered(base, 1);
    found_.reads |= general(found_.base);
    const size_t at = offset_;
    if (!skip(mod == 1 ? 1 : mod == 2 ? 4 : 0)) return false;
    if (mod == 1) found_.offset = static_cast<int8_t>(code_[at]);
    if (mod == 2) std::memcpy(&found_.offset, &code_[at], sizeof found_.offset);
    return true;
}

}  // namespace strobe::symbols
