#include "segment/read/operands.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>

namespace strobe::operands {
namespace {

using Op = Condition::Op;

constexpr double kSlack = 0x1p-22;  // more than what separates a float from its shortest decimal, relatively
constexpr double kWide = 0x1p126;

enum class Order : uint8_t { kLess, kEqual, kGreater, kUnordered, kAsk };

bool is_strange(const Operand& a, const Operand& b) { return !is_known(a) || !is_known(b); }

// What two operands give of which one is not known: an evaluation stops at what is undecided.
Operand strange(const Operand& a, const Operand& b) {
    if (a.kind == Operand::kAbsent) return a;
    if (a.kind == Operand::kUndecided || b.kind == Operand::kUndecided) return undecided();
    return a.kind != Operand::kAsk && b.kind == Operand::kAbsent ? b : ask();
}

template <typename Number>
Order order(Number a, Number b) {
    return a < b ? Order::kLess : a > b ? Order::kGreater : a == b ? Order::kEqual : Order::kUnordered;
}

bool is_wide(const Operand& value) { return value.kind == Operand::kInteger && value.type == Type::kWide; }

double as_real(const Operand& value) {
    return value.kind == Operand::kInteger ? static_cast<double>(value.integer) : value.real;
}

// Most floats are far enough from what they are compared with.
bool is_far(float value, const Operand& other, Order& found) {
    if (other.kind != Operand::kReal && (other.kind != Operand::kInteger || is_wide(other))) return false;
    const double one = value;
    const double two = as_real(other);
    if (!std::isfinite(one) || !std::isfinite(two) || std::fabs(one - two) <= std::fabs(one) * kSlack + 1e-30)
        return false;
    found = order(one, two);
    return true;
}

Order numeric_order(const Operand& a, const Operand& b) {
    Order found;
    if (a.kind == Operand::kSingle && is_far(a.single, b, found)) return found;
    const Operand one = number(a);
    const Operand two = number(b);
    if (is_wide(one) || is_wide(two)) return Order::kAsk;
    if (one.kind == Operand::kInteger && two.kind == Operand::kInteger) {
        const Type type = common(one.type, two.type);
        return order(wrapped(one.integer, type), wrapped(two.integer, type));
    }
    return order(as_real(one), as_real(two));
}

std::string_view view(const Operand& value) { return {value.text, value.bytes}; }

Operand same_text(const Operand& a, const Operand& b) {
    if (a.is_cut && b.is_cut) return ask();
    if (!a.is_cut && !b.is_cut) return boolean(view(a) == view(b));
    const std::string_view cut = view(a.is_cut ? a : b);
    const std::string_view whole = view(a.is_cut ? b : a);
    if (!whole.starts_with(cut) && !cut.starts_with(whole)) return boolean(false);
    return whole.size() <= cut.size() ? boolean(false) : undecided();
}

bool holds(Op op, Order order) {
    switch (op) {
        case Op::kEqual:
            return order == Order::kEqual;
        case Op::kUnequal:
            return order != Order::kEqual;
        case Op::kLess:
            return order == Order::kLess;
        case Op::kAtMost:
            return order == Order::kLess || order == Order::kEqual;
        case Op::kGreater:
            return order == Order::kGreater;
        default:
            return order == Order::kGreater || order == Order::kEqual;
    }
}

Operand compared_texts(Op op, const Operand& a, const Operand& b) {
    if (op == Op::kEqual) return same_text(a, b);
    if (op == Op::kUnequal) {
        const Operand same = same_text(a, b);
        return is_known(same) ? boolean(same.integer == 0) : same;
    }
    if (a.is_cut || b.is_cut) return undecided();
    return boolean(holds(op, order(view(a).compare(view(b)), 0)));
}

Operand of_integers(Op op, const Operand& one, const Operand& two) {
    if (is_wide(one) || is_wide(two)) return ask();
    const Type type = common(one.type, two.type);
    const Integer a = wrapped(one.integer, type);
    const Integer b = wrapped(two.integer, type);
    switch (op) {
        case Op::kAdd:
            return integer(wrapped(a + b, type), type);
        case Op::kSubtract:
            return integer(wrapped(a - b, type), type);
        case Op::kMultiply: {
            const auto product = static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b);
            return integer(wrapped(static_cast<Integer>(product), type), type);
        }
        default:
            break;
    }
    if (b == 0) return undecided();
    return integer(wrapped(op == Op::kDivide ? a / b : a % b, type), type);
}

Operand of_reals(Op op, double a, double b) {
    switch (op) {
        case Op::kAdd:
            return real(a + b);
        case Op::kSubtract:
            return real(a - b);
        case Op::kMultiply:
            return real(a * b);
        case Op::kDivide:
            return real(a / b);
        default:
            return real(std::fmod(a, b));
    }
}

Operand shifted(Op op, const Operand& value, const Operand& by) {
    const int bits = value.type == Type::kInt || value.type == Type::kUnsigned ? 32 : 64;
    if (by.integer < 0 || by.integer >= bits) return undecided();
    const auto count = static_cast<unsigned>(by.integer);
    const auto left = static_cast<Integer>(static_cast<unsigned __int128>(value.integer) << count);
    return integer(wrapped(op == Op::kShiftLeft ? left : value.integer >> count, value.type), value.type);
}

Operand of_bits(Op op, const Operand& a, const Operand& b) {
    const Operand one = whole(a);
    const Operand two = whole(b);
    if (is_strange(one, two)) return strange(one, two);
    if (is_wide(one) || is_wide(two)) return ask();
    const Type type = common(one.type, two.type);
    switch (op) {
        case Op::kBitAnd:
            return integer(wrapped(one.integer & two.integer, type), type);
        case Op::kBitOr:
            return integer(wrapped(one.integer | two.integer, type), type);
        case Op::kBitXor:
            return integer(wrapped(one.integer ^ two.integer, type), type);
        default:
            return shifted(op, one, two);
    }
}

// As C converts a number to an integer of so many bytes.
Operand cast(const Operand& value, uint32_t bytes, bool is_signed) {
    Operand found = number(value);
    if (!is_known(found)) return found;
    if (found.kind == Operand::kReal) {
        if (!std::isfinite(found.real)) return undecided();
        if (std::fabs(found.real) >= kWide) return ask();
        found = integer(static_cast<Integer>(found.real));
    }
    const Type type = bytes >= 8   ? (is_signed ? Type::kLong : Type::kUnsignedLong)
                      : bytes == 4 ? (is_signed ? Type::kInt : Type::kUnsigned)
                                   : Type::kInt;
    const uint64_t mask = bytes >= 8 ? UINT64_MAX : (uint64_t{1} << 8 * bytes) - 1;
    const uint64_t low = static_cast<uint64_t>(found.integer) & mask;
    if (!is_signed || !(low >> (8 * bytes - 1) & 1)) return integer(low, type);
    return integer(Integer{low} - (Integer{mask} + 1), type);
}

}  // namespace

Operand integer(Integer value, Type type) {
    Operand found;
    found.kind = Operand::kInteger;
    found.type = type;
    found.integer = value;
    return found;
}

Operand integer(Integer value) {
    for (const Type type : {Type::kLong, Type::kUnsignedLong})
        if (wrapped(value, type) == value) return integer(value, type);
    return integer(value, Type::kWide);
}

Operand enumerator(Integer value) {
    return wrapped(value, Type::kInt) == value ? integer(value, Type::kInt) : integer(value);
}

bool is_unsigned(Type type) { return type == Type::kUnsigned || type == Type::kUnsignedLong; }

// The order of Type is that of C's ranks, an unsigned one behind the signed one of its size.
Type common(Type one, Type other) { return std::max(one, other); }

Integer wrapped(Integer value, Type type) {
    switch (type) {
        case Type::kInt:
            return static_cast<int32_t>(static_cast<uint32_t>(value));
        case Type::kUnsigned:
            return static_cast<uint32_t>(value);
        case Type::kLong:
            return static_cast<int64_t>(static_cast<uint64_t>(value));
        case Type::kUnsignedLong:
            return static_cast<uint64_t>(value);
        default:
            return value;
    }
}

Operand chosen(const Operand& value, const Operand& other) {
    if (value.kind != Operand::kInteger || is_wide(value)) return value;
    if (other.kind == Operand::kReal || other.kind == Operand::kSingle) return real(as_real(value));
    if (other.kind != Operand::kInteger || is_wide(other)) return value;
    const Type type = common(value.type, other.type);
    return integer(wrapped(value.integer, type), type);
}

Operand real(double value) {
    Operand found;
    found.kind = Operand::kReal;
    found.real = value;
    return found;
}

Operand boolean(bool value) { return integer(value ? 1 : 0, Type::kInt); }

Operand text(const char* begin, uint32_t bytes, bool is_cut) {
    Operand found;
    found.kind = Operand::kText;
    found.is_cut = is_cut;
    found.bytes = bytes;
    found.text = begin;
    return found;
}

Operand undecided() {
    Operand found;
    found.kind = Operand::kUndecided;
    return found;
}

Operand absent() {
    Operand found;
    found.kind = Operand::kAbsent;
    return found;
}

Operand ask() { return {}; }

double shortest(float value) {
    if (!std::isfinite(value) || (std::fabs(value) < 1e6f && value == std::rint(value))) return value;
    for (int digits = 6; digits < 10; ++digits) {
        char shown[32];
        std::snprintf(shown, sizeof shown, "%.*g", digits, static_cast<double>(value));
        const double found = std::strtod(shown, nullptr);
        if (static_cast<float>(found) == value) return found;
    }
    return value;
}

bool is_known(const Operand& value) { return value.kind < Operand::kUndecided; }

Verdict truth(const Operand& value) {
    switch (value.kind) {
        case Operand::kInteger:
            return value.integer != 0 ? Verdict::kHolds : Verdict::kFails;
        case Operand::kReal:
            return value.real != 0 ? Verdict::kHolds : Verdict::kFails;
        case Operand::kSingle:
            return value.single != 0 ? Verdict::kHolds : Verdict::kFails;
        case Operand::kText:
            return Verdict::kHolds;
        case Operand::kUndecided:
            return Verdict::kUndecided;
        case Operand::kAbsent:
            return Verdict::kAbsent;
        default:
            return Verdict::kAsk;
    }
}

Operand number(const Operand& value) {
    if (value.kind == Operand::kSingle) return real(shortest(value.single));
    return value.kind == Operand::kText ? undecided() : value;
}

Operand whole(const Operand& value) {
    return value.kind == Operand::kReal || value.kind == Operand::kSingle ? undecided() : number(value);
}

Operand compared(Op op, const Operand& left, const Operand& right) {
    if (is_strange(left, right)) return strange(left, right);
    const bool is_text = left.kind == Operand::kText;
    if (is_text != (right.kind == Operand::kText)) return undecided();
    if (is_text) return compared_texts(op, left, right);
    const Order found = numeric_order(left, right);
    return found == Order::kAsk ? ask() : boolean(holds(op, found));
}

Operand calculated(Op op, const Operand& left, const Operand& right) {
    if (op >= Op::kBitAnd && op <= Op::kShiftRight) return of_bits(op, left, right);
    const Operand one = number(left);
    const Operand two = number(right);
    if (is_strange(one, two)) return strange(one, two);
    if (one.kind == Operand::kInteger && two.kind == Operand::kInteger) return of_integers(op, one, two);
    return of_reals(op, as_real(one), as_real(two));
}

Operand changed(Op op, const Operand& value, uint32_t bytes) {
    if (op == Op::kToSigned || op == Op::kToUnsigned) return cast(value, bytes, op == Op::kToSigned);
    const Operand found = op == Op::kInvert ? whole(value) : number(value);
    if (!is_known(found)) return found;
    if (is_wide(found)) return ask();
    if (op == Op::kToReal) return real(as_real(found));
    if (op == Op::kToSingle) return real(static_cast<float>(as_real(found)));
    if (found.kind == Operand::kReal) return real(op == Op::kNegate ? -found.real : std::fabs(found.real));
    const bool is_turned = op == Op::kNegate || found.integer < 0;
    const Integer result = op == Op::kInvert ? ~found.integer : is_turned ? -found.integer : found.integer;
    return integer(wrapped(result, found.type), found.type);
}

Operand text_test(Op op, const Operand& within, const Operand& part) {
    if (is_strange(within, part)) return strange(within, part);
    if (within.kind != Operand::kText || part.kind != Operand::kText) return undecided();
    const std::string_view whole = view(within);
    const std::string_view asked = view(part);
    if (op == Op::kEndsWith) return within.is_cut ? undecided() : boolean(whole.ends_with(asked));
    if (op == Op::kStartsWith) {
        if (within.is_cut && asked.size() > whole.size() && asked.starts_with(whole)) return undecided();
        return boolean(whole.starts_with(asked));
    }
    const bool is_there = whole.find(asked) != std::string_view::npos;
    return !is_there && within.is_cut ? undecided() : boolean(is_there);
}

}  // namespace strobe::operands
