"""What parts of an expression are while it is compiled: rows of a recipe that push a number, or lead to a text.

Integers are calculated with in 64 bits and compared by their value; floating-point numbers as C does.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TypeAlias

from strobe.dataclass import dataclass, replace
from strobe.expressions.syntax import ExpressionError
from strobe.symbols.types.model import Enum
from strobe.values.memory.recipes import CONSTANTS, Steps, rows

_OF_FLOATS = {"+": "DOUBLE_PLUS", "-": "DOUBLE_MINUS", "*": "DOUBLE_TIMES", "/": "DOUBLE_DIVIDED"}
_SIGN = -(1 << 63)
_OPERATIONS = {"+": "PLUS", "-": "MINUS", "*": "TIMES", "&": "BIT_AND", "|": "BIT_OR", "^": "BIT_XOR", "<<": "LEFT"}
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
    """Rows that push one number, with `height` numbers on the stack at most. `is_big`: it may be above 2^63, and is
    never negative; else it is signed. `enum`: whose enumerators it may be compared with. `is_truth`: it is 0 or 1.
    `is_address`: it is shown as one."""

    rows: Rows
    is_big: bool = False
    height: int = 1
    enum: Enum | None = None
    is_truth: bool = False
    is_address: bool = False


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


def constant(number: int) -> Number:
    """The same number each time."""
    return Number(rows((("CONSTANT", 0, 0, number),)), is_big=number >= 1 << 63)


def double(number: float) -> Number:
    """The bits of a floating-point number."""
    (bits,) = struct.unpack("<q", struct.pack("<d", number))
    return Number(rows((("CONSTANT", 0, 0, bits),)))


def failing(reason: str) -> Number:
    """A number that is never there."""
    zero = constant(0).rows
    return Number((*zero, *zero, Row(rows((("DIVIDED", 0, 0, 0),))[0], reason)), height=2)


def variable(place: int, *, is_big: bool = False, is_truth: bool = False) -> Number:
    """What a variable of the recipe holds."""
    return Number(rows((("GET", 0, place, 0),)), is_big, is_truth=is_truth)


def set_variable(place: int, number: Number | Float) -> Rows:
    """Rows that make the number a variable."""
    return (*number.rows, *rows((("SET", 0, place, 0),)))


def joined(operation: str, left: Number, right: Number, *, is_big: bool = False, is_truth: bool = False) -> Number:
    """What an operation of the recipe makes of two numbers."""
    height = max(left.height, 1 + right.height)
    return Number((*left.rows, *right.rows, *rows(((operation, 0, 0, 0),))), is_big, height, None, is_truth)


def chosen(test: Number, yes: Number, no: Number) -> Number:
    """`yes` where the test is not 0, else `no`."""
    height = max(test.height, 1 + yes.height, 2 + no.height)
    found = (*test.rows, *yes.rows, *no.rows, *rows((("SELECT", 0, 0, 0),)))
    are_addresses = yes.is_address or no.is_address
    return Number(found, yes.is_big or no.is_big, height, None, yes.is_truth and no.is_truth, are_addresses)


def truth(number: Number) -> Number:
    """0 or 1."""
    return number if number.is_truth else opposite(opposite(number))


def opposite(number: Number) -> Number:
    """1 where it is 0, else 0."""
    return joined("EQUAL", number, constant(0), is_truth=True)


def known(number: Number, of: Number) -> Number:
    """The number, bad where the other one is."""
    nothing = joined("BIT_AND", of, constant(0))
    return replace(joined("PLUS", number, nothing, is_big=number.is_big), enum=number.enum, is_truth=number.is_truth)


def highest(numbers: Iterable[Number | Float]) -> int:
    """The most that one of them has on the stack."""
    return max(one.height for one in numbers)


def extended(number: Number, bits: int) -> Number:
    """With the sign that its highest bit is."""
    sign = 1 << (bits - 1)
    return joined("MINUS", joined("BIT_XOR", number, constant(sign)), constant(sign))


def cast(kind: str, value: Number | Float) -> Number | Float:
    """The number as one of the type `kind`, as Cast has it."""
    if kind == "bool":
        return truth(is_not_zero(value) if isinstance(value, Float) else value)
    if kind == "f32":
        return as_single(value)
    if kind == "f64":
        found = as_double(value)
        return Float(found.rows, found.height)
    bits = int(kind[1:])
    number = _as_integer(kind, value) if isinstance(value, Float) else value
    cut = number if bits == 64 else joined("BIT_AND", number, constant((1 << bits) - 1))
    if kind.startswith("u"):
        return Number(cut.rows, bits == 64, cut.height)
    return Number(cut.rows, False, cut.height) if bits == 64 else extended(cut, bits)


def is_not_zero(value: Float) -> Number:
    """Whether it is true as a condition."""
    return opposite(equal(value, Float(double(0.0).rows)))


def _as_integer(kind: str, value: Float) -> Number:
    """Towards zero; bad where the type has no such number."""
    is_big = kind == "u64"
    to = constant(CONSTANTS["FROM_UNSIGNED" if is_big else "FROM_SIGNED"])
    rows_of = (*as_double(value).rows, *to.rows)
    reason = "it is beyond all integers"
    return Number((*rows_of, Row(rows((("TO_INTEGER", 0, 0, 0),))[0], reason)), is_big, value.height + 1)


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
        raise ExpressionError(at, f"'{sign}' is of integers", "(int64_t)x % 8")
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
    """0 or 1: integers by their value, whatever their signs; floating-point numbers as IEEE 754 has it."""
    if sign in (">", "<="):
        left, right = right, left
    is_negated = sign in ("!=", "<=", ">=")
    found = equal(left, right) if sign in ("==", "!=") else less(left, right)
    if is_negated and sign != "!=" and (isinstance(left, Float) or isinstance(right, Float)):
        other = equal(left, right)  # `<=` is not the opposite of `>` where one is no number
        return joined("OR", less(right, left), other, is_truth=True)
    return opposite(found) if is_negated else found


def equal(left: Number | Float, right: Number | Float) -> Number:
    """Whether both have the same value."""
    if isinstance(left, Float) or isinstance(right, Float):
        return joined("DOUBLE_EQUAL", *_alike(left, right), is_truth=True)
    plain = joined("EQUAL", left, right, is_truth=True)
    if left.is_big == right.is_big:
        return plain
    signed = right if left.is_big else left
    return joined("AND", opposite(_is_negative(signed)), plain, is_truth=True)


def less(left: Number | Float, right: Number | Float) -> Number:
    """Whether the first is less."""
    if isinstance(left, Float) or isinstance(right, Float):
        return joined("DOUBLE_LESS", *_alike(left, right), is_truth=True)
    if not left.is_big and not right.is_big:
        return joined("SIGNED_LESS", left, right, is_truth=True)
    plain = joined("LESS", left, right, is_truth=True)
    if left.is_big and right.is_big:
        return plain
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


def calculated(sign: str, left: Number, right: Number) -> Number:
    """Arithmetic of C in 64 bits."""
    is_big = left.is_big or right.is_big
    if sign in ("/", "%"):
        name = "DIVIDED" if sign == "/" else "MODULO"
        return joined(name if is_big else f"SIGNED_{name}", left, right, is_big=is_big)
    if sign == ">>":
        return joined("RIGHT" if left.is_big else "SIGNED_RIGHT", left, right, is_big=left.is_big)
    found = joined(_OPERATIONS[sign], left, right, is_big=left.is_big if sign == "<<" else is_big)
    is_address = sign in ("+", "-") and left.is_address != right.is_address
    return replace(found, is_address=True) if is_address else found


def enumerator(enum: Enum, name: str) -> int | None:
    """`MODE_PLAY`, `Mode::Play`."""
    last = name.rpartition("::")[2]
    return next((one.value for one in enum.enumerators if one.name.rpartition("::")[2] == last), None)


def as_number(value: Term) -> Term:
    """Of a `char*` its address, where that is what is asked for."""
    return value.pointer if isinstance(value, Text) and value.pointer is not None else value
