"""How System V AMD64 passes arguments (ABI 1.0, section 3.2.3): which integer register holds which parameter.

The rule here is never to be wrong: a Doubt about one parameter leaves it and all later ones without register.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

INTEGER_REGISTERS = 6
_SSE_REGISTERS = 8
DWARF_TO_ARGUMENT = {5: 0, 4: 1, 1: 2, 2: 3, 8: 4, 9: 5}  # DWARF numbers of rdi, rsi, rdx, rcx, r8, r9 (figure 3.36)


class Doubt(ValueError):
    """What is known does not settle how a value is passed."""


class Place(Enum):
    REGISTERS = "registers"
    MEMORY = "memory"  # on the stack; as a return value behind a hidden pointer
    REFERENCE = "reference"  # a class whose copies run code: the caller passes its address


@dataclass(frozen=True, slots=True)
class Shape:
    """Where a value goes, and how many registers of each kind it wants."""

    place: Place
    integers: int = 0
    floats: int = 0
    may_split: bool = False  # clang before 18 passed a 128-bit integer half in the last register, half on the stack


NOTHING = Shape(Place.REGISTERS)
ONE_INTEGER = Shape(Place.REGISTERS, integers=1)
TWO_INTEGERS = Shape(Place.REGISTERS, integers=2)
WIDE_INTEGER = Shape(Place.REGISTERS, integers=2, may_split=True)
ONE_FLOAT = Shape(Place.REGISTERS, floats=1)
IN_MEMORY = Shape(Place.MEMORY)
BY_REFERENCE = Shape(Place.REFERENCE, integers=1)


def assign(returned: Shape | None, parameters: Iterable[Shape | None]) -> list[int | None]:
    """First integer register of each parameter, None for none or in doubt; a shape None stands for a doubt.

    A value that finds too few registers of either kind goes to the stack whole, and later ones may still find some.
    """
    doubtful = returned is None
    integers = 1 if returned is not None and returned.place is not Place.REGISTERS else 0
    floats = 0
    assigned: list[int | None] = []
    for shape in parameters:
        doubtful = doubtful or shape is None or (shape.may_split and integers == INTEGER_REGISTERS - 1)
        if doubtful or shape is None or not _fits(shape, integers, floats):
            assigned.append(None)
            continue
        assigned.append(integers if shape.integers else None)
        integers += shape.integers
        floats += shape.floats
    return assigned


def _fits(shape: Shape, integers: int, floats: int) -> bool:
    in_registers = shape.place is not Place.MEMORY
    return in_registers and integers + shape.integers <= INTEGER_REGISTERS and floats + shape.floats <= _SSE_REGISTERS


class Eightbytes:
    """Classes of the two eightbytes of a small aggregate, merged field by field."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._classes: list[str | None] = [None] * ((size + 7) // 8)
        self._in_memory = False

    def add(self, offset: int, size: int, is_float: bool) -> None:
        """A scalar field at `offset` bytes. One that is not on its natural boundary sends the whole to memory."""
        if size == 0 or offset + size > self._size:
            raise Doubt("a field outside of its type")
        if offset % min(size, 8) != 0:
            self._in_memory = True
            return
        for index in range(offset // 8, (offset + size - 1) // 8 + 1):
            if not is_float or self._classes[index] is None:
                self._classes[index] = "float" if is_float else "integer"

    def add_bits(self, first_bit: int, bits: int) -> None:
        """A bit-field: integer class, wherever it lies."""
        for index in {first_bit // 64, (first_bit + bits - 1) // 64}:
            if index >= len(self._classes):
                raise Doubt("a bit-field outside of its type")
            self._classes[index] = "integer"

    def send_to_memory(self) -> None:
        self._in_memory = True

    def shape(self) -> Shape:
        if self._in_memory:
            return IN_MEMORY
        if None in self._classes:
            raise Doubt("an eightbyte of padding alone")
        floats = self._classes.count("float")
        return Shape(Place.REGISTERS, integers=len(self._classes) - floats, floats=floats)
