// Some of x86-64's instructions: what compilers put around calls and at the beginnings of functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace strobe::symbols {

// Bit n: general register n, as instructions number them; bit 16 + n: xmm n.
using Registers = uint32_t;

inline constexpr uint8_t kRax = 0, kRdx = 2, kRsp = 4, kRbp = 5;

constexpr Registers general(uint8_t number) { return Registers{1} << number; }
constexpr Registers vector(uint8_t number) { return Registers{1} << (16 + number); }

// `stored`: the register that is written to memory at the general register `base` + `offset`; 0 where none is.
struct Instruction {
    size_t size = 0;
    Registers reads = 0;
    Registers writes = 0;
    Registers stored = 0;
    uint8_t base = 0;
    int32_t offset = 0;
    bool is_padding = false;  // does nothing: between functions, and at their beginnings
};

class Decoder {
  public:
    explicit Decoder(std::span<const uint8_t> code) : code_(code) {}

    // The next instruction; nothing for what is not known here, what changes where to go on, and at the code's end.
    std::optional<Instruction> next();

  private:
    struct Form;

    bool byte(uint8_t& value);
    bool prefixes();
    bool opcode();
    bool arithmetic(uint8_t value);
    bool two_bytes(uint8_t value);
    bool set(uint8_t low);
    bool immediate(uint8_t bytes, Registers reads);
    bool skip(size_t bytes);
    bool operands(Form form);
    bool address(uint8_t mod, uint8_t low);
    void use(uint8_t number, bool is_read, bool is_written, bool is_vector, Form form);
    uint8_t numbered(uint8_t low, uint8_t bit) const;

    const std::span<const uint8_t> code_;
    size_t offset_ = 0;
    Instruction found_;
    bool operand_is_word_ = false, repeats_ = false, repeats_not_equal_ = false;
    bool has_base_alone_ = false;  // the address in memory is a register's, and an offset
    uint8_t rex_ = 0;
};

}  // namespace strobe::symbols
