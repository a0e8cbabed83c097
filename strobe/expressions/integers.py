"""Integers as C calculates with them: the types that operands have once they are promoted, and what is made of two
(C11 6.3.1.1, 6.3.1.8; C++ [conv.prom], [expr.arith.conv]), for int of 32 and long of 64 bits.

What C leaves undefined is defined here: a result that its type does not have wraps.
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar


class Kind(Enum):
    """The type of an integer that is calculated with: (bits, whether it has a sign)."""

    INT = (32, True)
    UNSIGNED = (32, False)
    LONG = (64, True)
    UNSIGNED_LONG = (64, False)

    @property
    def bits(self) -> int:
        """32 or 64."""
        return self.value[0]

    @property
    def is_signed(self) -> bool:
        """Whether it has numbers below 0."""
        return self.value[1]

    def wrapped(self, number: int) -> int:
        """The number of this type that has the same lowest bits."""
        return wrapped(number, self.bits, self.is_signed)


_SPELLED = {Kind.INT: "int", Kind.UNSIGNED: "unsigned int", Kind.LONG: "long", Kind.UNSIGNED_LONG: "unsigned long"}


def spelled(kind: Kind) -> str:
    """As C spells the type."""
    return _SPELLED[kind]


def wrapped(number: int, bits: int, is_signed: bool) -> int:
    """What an integer type of so many bits makes of the number."""
    low = number & (1 << bits) - 1
    return low - (1 << bits) if is_signed and low >> (bits - 1) else low


def promoted(bits: int, is_signed: bool) -> Kind:
    """Of an integer, or a bit-field, of so many bits: int where that has all of its numbers."""
    if bits < 32:
        return Kind.INT
    if bits == 32:
        return Kind.INT if is_signed else Kind.UNSIGNED
    return Kind.LONG if is_signed else Kind.UNSIGNED_LONG


def common(left: Kind, right: Kind) -> Kind:
    """What both operands of an arithmetic operator, or a comparison, become."""
    if left.bits != right.bits:
        return left if left.bits > right.bits else right
    return left if not left.is_signed else right


def of_cast(name: str) -> Kind:
    """Of a cast to "u8", "i64" …, or "bool", promoted."""
    return Kind.INT if name == "bool" else promoted(int(name[1:]), name[0] == "i")


def of_literal(value: int, suffix: str, is_decimal: bool) -> Kind:
    """Of a number that is written down (C11 6.4.4.1): the first type that has it. `suffix`: in lower case, C's or
    Rust's."""
    if suffix[:1] in ("u", "i") and suffix[1:]:
        rest = suffix[1:]
        if rest.isdecimal() or rest == "size":
            return promoted(64 if rest == "size" else int(rest), suffix[0] == "i")
    is_unsigned = "u" in suffix
    kinds = [Kind.UNSIGNED_LONG] if is_unsigned else [Kind.LONG, Kind.UNSIGNED_LONG]
    if "l" not in suffix and "z" not in suffix:
        small = [Kind.UNSIGNED] if is_unsigned else [Kind.INT] if is_decimal else [Kind.INT, Kind.UNSIGNED]
        kinds = [*small, *kinds]
    return next((kind for kind in kinds if kind.wrapped(value) == value), Kind.UNSIGNED_LONG)


class Integer(int):
    """A number that has one of C's types. What Python calculates with it is a plain int, which is taken for a long."""

    __slots__ = ()
    kind: ClassVar[Kind] = Kind.LONG


class Int(Integer):
    """An int, or what is promoted to one."""

    __slots__ = ()
    kind = Kind.INT


class Unsigned(Integer):
    """An unsigned int."""

    __slots__ = ()
    kind = Kind.UNSIGNED


class UnsignedLong(Integer):
    """An unsigned long."""

    __slots__ = ()
    kind = Kind.UNSIGNED_LONG


CLASSES: dict[Kind, type[int]] = {
    Kind.INT: Int,
    Kind.UNSIGNED: Unsigned,
    Kind.LONG: int,
    Kind.UNSIGNED_LONG: UnsignedLong,
}


def typed(number: int, kind: Kind) -> int:
    """The number as one of that type; wraps."""
    return CLASSES[kind](kind.wrapped(number))


def kind_of(number: int) -> Kind | None:
    """Its type; None of a number of more than 64 bits."""
    if isinstance(number, Integer):
        return number.kind
    if isinstance(number, bool):
        return Kind.INT
    return next((kind for kind in (Kind.LONG, Kind.UNSIGNED_LONG) if kind.wrapped(number) == number), None)


def of_enum(number: int) -> int:
    """An enumerator's number: an int where that has it."""
    return Int(number) if Kind.INT.wrapped(number) == number else number
