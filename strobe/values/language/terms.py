"""What parts of an expression are while it is compiled: rows of a recipe that push a number, or lead to a text.

Numbers have C's types. One of 32 bits lies in the recipe's 64 with its sign, or zeros, in front.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TypeAlias

from strobe.dataclass import dataclass, replace
from strobe.expressions.integers import Kind, common, of_cast, wrapped
from strobe.expressions.syntax import ExpressionError
from strobe.symbols.types.model import Enum
from strobe.values.memory.recipes import CONSTANTS, Steps, rows

_OF_FLOATS = {"+": "DOUBLE_PLUS", "-": "DOUBLE_MINUS", "*": "DOUBLE_TIMES", "/": "DOUBLE_DIVIDED"}
_SIGN = -(1 << 63)
_OPERATIONS = {"+": "PLUS", "-": "MINUS", "*": "TIMES", "&": "BIT_AND", "|": "BIT_OR", "^": "BIT_XOR", "<<": "LEFT"}
INT = Kind.INT
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class Row(bytes):
    """A step that may fail, and why it does in words: which pointer is null, what is not there."""

    reason: str = ""

    def __new__(cls, row: bytes, reason: str) -> Row:
        self = super().__new__(cls, row)
        self.reason = reason
        return self


Rows: TypeAlias = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """Rows that push one number, with `height` numbers on the stack at most. `kind`: its type, promoted. `enum`: whose
    enumerators it may be compared with. `is_truth`: it is 0 or 1. `is_address`: it is shown as one. `constant`: what it
    always is."""

    rows: Rows
    kind: Kind = Kind.LONG
    height: int = 1
    enum: Enum | None = None
    is_truth: bool = False
    is_address: bool = False
    constant: int | None = None

    @property
    def is_big(self) -> bool:
        """Whether it may be above 2^63, and is never negative."""
        return self.kind is Kind.UNSIGNED_LONG


@dataclass(frozen=True, slots=True)
class Float:
    """Rows that push the bits of a double. `is_single`: of one that is a float."""

    rows: Rows
    height: int = 1
    is_single: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """Rows that lead to its first byte. `most`: where it ends at a zero, at most so many bytes behind; 0: its length is
    pushed as well. `pointer`: of a `char*`, as a number."""

    rows: Rows
    most: int
    pointer: Number | None = None


@dataclass(frozen=True, slots=True)
class Literal:
    """A text that the expression has."""

    data: bytes


Term: TypeAlias = Number | Float | Text | Literal


def steps(*found: tuple[str, int, int, int]) -> Rows:
    """Rows of a recipe: name, width, count and operand of each."""
    return rows(found)


def pushed(steps_of: Steps, height: int = 6) -> Number:
    """A number that a description of a type has steps for."""
    return Number(rows(steps_of), height=height)


def constant(number: int, kind: Kind | None = None, *, is_address: bool = False) -> Number:
    """The same number each time. `kind`: long, or unsigned long where that has it alone."""
    kind = kind or (Kind.UNSIGNED_LONG if number >= 1 << 63 else Kind.LONG)
    code = rows((("CONSTANT", 0, 0, number),))
    return Number(code, kind, is_address=is_address, constant=kind.wrapped(number))


def converted(number: Number, kind: Kind) -> Number:
    """The number as one of that type."""
    if number.kind is kind:
        return number
    if number.constant is not None:
        return constant(kind.wrapped(number.constant), kind)
    if kind.bits == 64 or number.is_truth:
        return replace(number, kind=kind, enum=None, is_truth=False)
    return Number(cut(number, kind.bits, kind.is_signed).rows, kind, number.height)


def cut(number: Number, bits: int, is_signed: bool) -> Number:
    """With what stands in its lowest 8, 16 or 32 bits, and the sign that this has."""
    return replace(number, rows=(*number.rows, *rows((("EXTEND", bits // 8, int(is_signed), 0),))), constant=None)


def double(number: float) -> Number:
    """The bits of a floating-point number."""
    (bits,) = struct.unpack("<q", struct.pack("<d", number))
    return Number(rows((("CONSTANT", 0, 0, bits),)))


def failing(reason: str) -> Number:
    """A number that is never there."""
    zero = constant(0).rows
    return Number((*zero, *zero, Row(rows((("DIVIDED", 0, 0, 0),))[0], reason)), height=2)


def variable(slot: int, kind: Kind = Kind.LONG, *, is_truth: bool = False) -> Number:
    """What a variable of the recipe holds."""
    return Number(rows((("GET", 0, slot, 0),)), kind, is_truth=is_truth)


def set_variable(slot: int, number: Number | Float) -> Rows:
    """Rows that make the number a variable."""
    return (*number.rows, *rows((("SET", 0, slot, 0),)))


def joined(operation: str, left: Number, right: Number, *, kind: Kind = Kind.LONG, is_truth: bool = False) -> Number:
    """What an operation of the recipe makes of two numbers. A truth is an int."""
    height = max(left.height, 1 + right.height)
    kind = Kind.INT if is_truth else kind
    return Number((*left.rows, *right.rows, *rows(((operation, 0, 0, 0),))), kind, height, None, is_truth)


def chosen(test: Number, yes: Number, no: Number) -> Number:
    """`yes` where the test is not 0, else `no`."""
    height = max(test.height, 1 + yes.height, 2 + no.height)
    are_truths = yes.is_truth and no.is_truth
    kind = common(yes.kind, no.kind)
    yes, no = (yes, no) if are_truths else (converted(yes, kind), converted(no, kind))
    found = (*test.rows, *yes.rows, *no.rows, *rows((("SELECT", 0, 0, 0),)))
    return Number(found, kind, height, None, are_truths, yes.is_address or no.is_address)


def truth(number: Number) -> Number:
    """0 or 1."""
    return number if number.is_truth else opposite(opposite(number))


def opposite(number: Number) -> Number:
    """1 where it is 0, else 0."""
    return joined("EQUAL", number, constant(0), is_truth=True)


def known(number: Number, of: Number) -> Number:
    """The number, bad where the other one is."""
    nothing = joined("BIT_AND", of, constant(0))
    return replace(joined("PLUS", number, nothing, kind=number.kind), enum=number.enum, is_truth=number.is_truth)


def highest(numbers: Iterable[Number | Float]) -> int:
    """The most that one of them has on the stack."""
    return max(one.height for one in numbers)


def extended(number: Number, bits: int) -> Number:
    """With the sign that its highest bit is."""
    sign = 1 << (bits - 1)
    return joined("MINUS", joined("BIT_XOR", number, constant(sign)), constant(sign))


def cast(kind: str, value: Number | Float) -> Number | Float:
    """The number as one of the type `kind`, as Cast has it. An address stays one where that has all of its bits."""
    if kind == "bool":
        return truth(is_not_zero(value) if isinstance(value, Float) else value)
    if kind == "f32":
        return as_single(value)
    if kind == "f64":
        found = as_double(value)
        return Float(found.rows, found.height)
    bits, is_signed = int(kind[1:]), kind[0] == "i"
    number = _as_integer(kind, value) if isinstance(value, Float) else value
    if number.constant is not None:
        return constant(wrapped(number.constant, bits, is_signed), of_cast(kind))
    found = number if bits == 64 else cut(number, bits, is_signed)
    return Number(found.rows, of_cast(kind), found.height, is_address=number.is_address and kind == "u64")


def is_not_zero(value: Float) -> Number:
    """Whether it is true as a condition."""
    return opposite(equal(value, Float(double(0.0).rows)))


def _as_integer(kind: str, value: Float) -> Number:
    """Towards zero; bad where the type has no such number."""
    is_big = kind == "u64"
    to = constant(CONSTANTS["FROM_UNSIGNED" if is_big else "FROM_SIGNED"])
    rows_of = (*as_double(value).rows, *to.rows)
    reason = "it is beyond all integers"
    of = Kind.UNSIGNED_LONG if is_big else Kind.LONG
    return Number((*rows_of, Row(rows((("TO_INTEGER", 0, 0, 0),))[0], reason)), of, value.height + 1)


def as_single(value: Number | Float) -> Float:
    """Rounded to what a float can be."""
    if isinstance(value, Number):
        kind = CONSTANTS["SINGLE_FROM_UNSIGNED" if value.is_big else "SINGLE_FROM_SIGNED"]
        found = joined("TO_DOUBLE", value, constant(kind))
    elif value.is_single:
        return value
    else:
        found = joined("TO_SINGLE", as_double(value), constant(0))
    return Float(found.rows, found.height, is_single=True)


def noted(value: Float) -> Number:
    """As it lies in memory: of a float the bits of a float."""
    bits = as_double(value)
    return joined("TO_SINGLE", bits, constant(CONSTANTS["AS_FLOAT"])) if value.is_single else bits


def is_of_singles(left: Number | Float, right: Number | Float) -> bool:
    """Whether C calculates in floats: no part is a double."""
    return all(isinstance(one, Number) or one.is_single for one in (left, right))


def _alike(left: Number | Float, right: Number | Float) -> tuple[Number, Number]:
    """Both as what C makes of them, where one is floating-point."""
    if is_of_singles(left, right):
        left, right = as_single(left), as_single(right)
    return as_double(left), as_double(right)


def calculated_floats(sign: str, left: Number | Float, right: Number | Float, at: int) -> Float:
    """Arithmetic of C where one is floating-point. Raises ExpressionError."""
    if sign not in _OF_FLOATS:
        raise ExpressionError(at, f"'{sign}' takes integers only", "(int64_t)x % 8")
    is_single = is_of_singles(left, right)
    found = joined(_OF_FLOATS[sign], *_alike(left, right))
    plain = Float(found.rows, found.height)
    return as_single(plain) if is_single else plain


def negative(value: Float) -> Float:
    """With the other sign, also of zero."""
    found = joined("BIT_XOR", as_double(value), constant(_SIGN))
    return replace(value, rows=found.rows, height=found.height)


def magnitude(value: Float) -> Float:
    """Without its sign."""
    found = joined("BIT_AND", as_double(value), constant(~_SIGN))
    return replace(value, rows=found.rows, height=found.height)


def chosen_of(test: Number, yes: Number | Float, no: Number | Float) -> Number | Float:
    """As `chosen`, of numbers of any kind."""
    if isinstance(yes, Number) and isinstance(no, Number):
        return chosen(test, yes, no)
    is_single = is_of_singles(yes, no)
    found = chosen(test, *_alike(yes, no))
    return Float(found.rows, found.height, is_single)


def compared(sign: str, left: Number | Float, right: Number | Float) -> Number:
    """0 or 1: integers once they are of one type, as C has it; floating-point numbers as IEEE 754 has it."""
    if isinstance(left, Number) and isinstance(right, Number):
        left, right = _of_one_kind(left, right)
    if sign in (">", "<="):
        left, right = right, left
    is_negated = sign in ("!=", "<=", ">=")
    found = equal(left, right) if sign in ("==", "!=") else less(left, right)
    if is_negated and sign != "!=" and (isinstance(left, Float) or isinstance(right, Float)):
        other = equal(left, right)  # `<=` is not the opposite of `>` where one is no number
        return joined("OR", less(right, left), other, is_truth=True)
    return opposite(found) if is_negated else found


def _of_one_kind(left: Number, right: Number) -> tuple[Number, Number]:
    kind = common(left.kind, right.kind)
    return converted(left, kind), converted(right, kind)


def equal(left: Number | Float, right: Number | Float) -> Number:
    """Whether both have the same value, once they are of one type."""
    if isinstance(left, Float) or isinstance(right, Float):
        return joined("DOUBLE_EQUAL", *_alike(left, right), is_truth=True)
    return joined("EQUAL", *_of_one_kind(left, right), is_truth=True)


def less(left: Number | Float, right: Number | Float) -> Number:
    """Whether the first is less, once they are of one type."""
    if isinstance(left, Float) or isinstance(right, Float):
        return joined("DOUBLE_LESS", *_alike(left, right), is_truth=True)
    one, other = _of_one_kind(left, right)
    return joined("LESS" if one.is_big else "SIGNED_LESS", one, other, is_truth=True)


def precedes(left: Number, right: Number) -> Number:
    """Whether the first is less, by their values: of indexes, whatever types these have."""
    if left.is_big == right.is_big:
        return joined("LESS" if left.is_big else "SIGNED_LESS", left, right, is_truth=True)
    plain = joined("LESS", left, right, is_truth=True)
    if left.is_big:
        return joined("AND", opposite(_is_negative(right)), plain, is_truth=True)
    return joined("OR", _is_negative(left), plain, is_truth=True)


def _is_negative(number: Number) -> Number:
    return joined("SIGNED_LESS", number, constant(0), is_truth=True)


def as_double(value: Number | Float) -> Number:
    """Rows that push the bits of a double of the same value."""
    if isinstance(value, Float):
        return Number(value.rows, height=value.height)
    return joined("TO_DOUBLE", value, constant(CONSTANTS["FROM_UNSIGNED" if value.is_big else "FROM_SIGNED"]))


def calculated(sign: str, left: Number, right: Number, at: int) -> Number:
    """Arithmetic of C. Where that leaves a result undefined, it wraps; a shift by bits that are not there gives none.
    Raises ExpressionError for one by a constant."""
    if sign in ("<<", ">>"):
        return _shifted(sign, left, right, at)
    kind = common(left.kind, right.kind)
    is_address = sign in ("+", "-") and left.is_address != right.is_address
    left, right = converted(left, kind), converted(right, kind)
    if sign in ("/", "%"):
        name = "DIVIDED" if sign == "/" else "MODULO"
        found = joined(f"SIGNED_{name}" if kind.is_signed else name, left, right, kind=kind)
        found = replace(found, rows=(*found.rows[:-1], Row(found.rows[-1], "a division by zero")))
        return _in_range(found) if name == "DIVIDED" and kind is Kind.INT and right.constant in (None, -1) else found
    found = joined(_OPERATIONS[sign], left, right, kind=kind)
    found = found if sign in ("&", "|", "^") else _in_range(found)
    return replace(found, is_address=True) if is_address else found


def _shifted(sign: str, left: Number, right: Number, at: int) -> Number:
    bits = left.kind.bits
    if right.constant is not None and not 0 <= right.constant < bits:
        raise ExpressionError(at, f"a shift by {right.constant}, of a number of {bits} bits")
    name = "LEFT" if sign == "<<" else "RIGHT" if not left.kind.is_signed else "SIGNED_RIGHT"
    step = rows(((name, 0, 0, bits),))[0]
    step = Row(step, f"a shift by as many bits as there are, {bits}, or more")
    found = Number((*left.rows, *right.rows, step), left.kind, max(left.height, 1 + right.height))
    return _in_range(found) if sign == "<<" else found


def _in_range(number: Number) -> Number:
    """What was calculated in 64 bits, as its type has it."""
    kind = number.kind
    return number if kind.bits == 64 else cut(number, kind.bits, kind.is_signed)


def negated(number: Number) -> Number:
    """`-number`."""
    if number.constant is not None:
        return constant(number.kind.wrapped(-number.constant), number.kind)
    return _in_range(joined("MINUS", constant(0), number, kind=number.kind))


def inverted(number: Number) -> Number:
    """`~number`."""
    if number.constant is not None:
        return constant(number.kind.wrapped(~number.constant), number.kind)
    ones = constant(number.kind.wrapped(-1), number.kind)
    return joined("BIT_XOR", number, ones, kind=number.kind)


def enumerator(enum: Enum, name: str) -> int | None:
    """`MODE_PLAY`, `Mode::Play`."""
    last = name.rpartition("::")[2]
    return next((one.value for one in enum.enumerators if one.name.rpartition("::")[2] == last), None)


def as_number(value: Term) -> Term:
    """Of a `char*` its address, where that is what is asked for."""
    return value.pointer if isinstance(value, Text) and value.pointer is not None else value
