"""How System V AMD64 passes arguments and results (ABI 1.0, section 3.2.3): which registers and stack words hold them.

The rule here is never to be wrong: a Doubt about one parameter leaves it and all later ones without a source.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from strobe import _abi
from strobe.dataclass import dataclass
from strobe.symbols.dwarf.dies import Doubt

INTEGER_REGISTERS = _abi.REGISTERS
_SSE_REGISTERS = 8
# Numbers of sources are those of the recorder.
RAX, RDX, XMM0, ST0, STACK = _abi.SOURCE_RAX, _abi.SOURCE_RDX, _abi.SOURCE_XMM0, _abi.SOURCE_ST0, _abi.SOURCE_STACK
LAST_STACK = 255
# DWARF numbers (figure 3.36) of rdi, rsi, rdx, rcx, r8, r9 and xmm0 to xmm7
DWARF_TO_SOURCE = {5: 0, 4: 1, 1: 2, 2: 3, 8: 4, 9: 5} | {17 + xmm: XMM0 + xmm for xmm in range(_SSE_REGISTERS)}
_WORD_BYTES = 8

Sources = tuple[int, ...]  # of a value's words in their order; a vector register may hold two


class Passing(Enum):
    """How a value is passed (System V ABI for x86-64, section 3.2.3)."""

    REGISTERS = "registers"
    MEMORY = "memory"  # on the stack; as a return value behind a hidden pointer
    REFERENCE = "reference"  # a class whose copies run code: the caller passes its address
    X87 = "x87"  # a result on the stack of the x87


class Class(Enum):
    """Of an eightbyte. VECTOR: all 16 bytes of a vector register."""

    INTEGER = "integer"
    SSE = "sse"
    VECTOR = "vector"


@dataclass(frozen=True, slots=True)
class Shape:
    """Where a value goes: the class of each of its words, or the bytes that it takes on the stack.

    `may_split`: clang before 18 passed a 128-bit integer half in the last register, half on the stack, and aligned it
    differently there.
    """

    passing: Passing
    classes: tuple[Class, ...] = ()
    size: int = 0
    alignment: int = _WORD_BYTES
    may_split: bool = False

    @property
    def integers(self) -> int:
        """How many words go into integer registers."""
        return self.classes.count(Class.INTEGER)

    @property
    def floats(self) -> int:
        """How many words go into vector registers."""
        return len(self.classes) - self.integers

    @property
    def is_behind_pointer(self) -> bool:
        """As a result: the caller passes a hidden pointer in rdi, which comes back in rax."""
        return self.passing in (Passing.MEMORY, Passing.REFERENCE)


NOTHING = Shape(Passing.REGISTERS)
ONE_INTEGER = Shape(Passing.REGISTERS, (Class.INTEGER,), 8)
TWO_INTEGERS = Shape(Passing.REGISTERS, (Class.INTEGER,) * 2, 16)
WIDE_INTEGER = Shape(Passing.REGISTERS, (Class.INTEGER,) * 2, 16, 16, may_split=True)
ONE_FLOAT = Shape(Passing.REGISTERS, (Class.SSE,), 8)
TWO_FLOATS = Shape(Passing.REGISTERS, (Class.SSE,) * 2, 16)
ONE_VECTOR = Shape(Passing.REGISTERS, (Class.VECTOR,), 16, 16)
BY_REFERENCE = Shape(Passing.REFERENCE, (Class.INTEGER,), 8)
IN_X87 = Shape(Passing.X87)


def in_memory(size: int, alignment: int = _WORD_BYTES) -> Shape:
    """The shape of what is passed on the stack, `size` and `alignment` in bytes."""
    return Shape(Passing.MEMORY, size=size, alignment=alignment)


def assign(returned: Shape | None, parameters: Iterable[Shape | None]) -> list[Sources | None]:
    """Where each parameter's words are at the entry, None in doubt, () where it has none; a shape None is a doubt.

    A value that finds too few registers of either kind goes to the stack whole, and later ones may still find some.
    """
    arguments = _Arguments(hidden=returned is not None and returned.is_behind_pointer)
    doubtful = returned is None
    assigned: list[Sources | None] = []
    for shape in parameters:
        doubtful = doubtful or shape is None or (shape.may_split and arguments.integers == INTEGER_REGISTERS - 1)
        assigned.append(None if doubtful or shape is None else arguments.take(shape))
    return assigned


def result_sources(shape: Shape | None) -> Sources:
    """Registers of a result's words; those of the address for one behind a pointer; none in doubt."""
    if shape is None or shape.passing is Passing.X87:
        return ()
    if shape.is_behind_pointer:
        return (RAX,)
    integers, floats = iter((RAX, RDX)), iter((XMM0, XMM0 + 1))
    return tuple(next(integers if item is Class.INTEGER else floats) for item in shape.classes)


class _Arguments:
    """What the parameters so far have taken."""

    def __init__(self, hidden: bool) -> None:
        self.integers = 1 if hidden else 0
        self._floats = 0
        self._stack_bytes = 0
        self._stack_is_open = False

    def take(self, shape: Shape) -> Sources | None:
        if shape.passing is Passing.MEMORY or not self._fits(shape):
            return self._on_stack(shape)
        sources = []
        for item in shape.classes:
            if item is Class.INTEGER:
                sources.append(self.integers)
                self.integers += 1
            else:
                sources.append(XMM0 + self._floats)
                self._floats += 1
        return tuple(sources)

    def _fits(self, shape: Shape) -> bool:
        return self.integers + shape.integers <= INTEGER_REGISTERS and self._floats + shape.floats <= _SSE_REGISTERS

    def _on_stack(self, shape: Shape) -> Sources | None:
        self._stack_is_open = self._stack_is_open or shape.may_split or shape.alignment > 16
        if self._stack_is_open:
            return None
        start = -(-self._stack_bytes // shape.alignment) * shape.alignment
        words = -(-shape.size // _WORD_BYTES)
        self._stack_bytes = start + words * _WORD_BYTES
        return tuple(STACK + start // _WORD_BYTES + index for index in range(words))


class Eightbytes:
    """Classes of the two eightbytes of a small aggregate, merged field by field."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._classes: list[Class | None] = [None] * ((size + 7) // 8)
        self._in_memory = False

    def add(self, offset: int, size: int, is_float: bool) -> None:
        """A scalar field at `offset` bytes. One that is not on its natural boundary sends the whole to memory."""
        if size == 0 or offset + size > self._size:
            raise Doubt("a field outside its type")
        if offset % min(size, 8) != 0:
            self._in_memory = True
            return
        for index in range(offset // 8, (offset + size - 1) // 8 + 1):
            if not is_float or self._classes[index] is None:
                self._classes[index] = Class.SSE if is_float else Class.INTEGER

    def add_bits(self, first_bit: int, bits: int) -> None:
        """A bit-field: integer class, wherever it lies."""
        for index in {first_bit // 64, (first_bit + bits - 1) // 64}:
            if index >= len(self._classes):
                raise Doubt("a bit-field outside its type")
            self._classes[index] = Class.INTEGER

    def send_to_memory(self) -> None:
        """The whole value is passed in memory, whatever its fields are."""
        self._in_memory = True

    def shape(self, alignment: int) -> Shape:
        """The shape by the classes found. Raises Doubt where one has no field."""
        if self._in_memory:
            return in_memory(self._size, alignment)
        classes = tuple(item for item in self._classes if item is not None)
        if len(classes) < len(self._classes):
            raise Doubt("an eightbyte of padding alone")
        return Shape(Passing.REGISTERS, classes, self._size, alignment)
