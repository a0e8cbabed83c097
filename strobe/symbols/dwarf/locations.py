"""Where a value is, in plain terms: what a DWARF expression means for whoever reads registers and memory.

A location needs, to be read: registers of the frame, its CFA and frame base (Frame has both, as locations whose
address they are), the module's slide for addresses, the thread's block of thread-local storage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from strobe.dataclass import dataclass, replace
from strobe.symbols.dwarf.expressions import Operation
from strobe.symbols.dwarf.registers import register_name


@dataclass(frozen=True, slots=True)
class InRegister:
    """The value is what the register holds. `number`: of DWARF, see registers.py."""

    number: int

    def __str__(self) -> str:
        return f"in {register_name(self.number)}"


@dataclass(frozen=True, slots=True)
class AtFrameBase:
    """In memory at the function's frame base + `offset`."""

    offset: int

    def __str__(self) -> str:
        return f"at frame base{_signed(self.offset)}"


@dataclass(frozen=True, slots=True)
class AtCfa:
    """In memory at the frame's CFA + `offset`: what the stack pointer was before the call, on x86-64."""

    offset: int

    def __str__(self) -> str:
        return f"at CFA{_signed(self.offset)}"


@dataclass(frozen=True, slots=True)
class AtRegister:
    """In memory at what the register holds + `offset`."""

    number: int
    offset: int

    def __str__(self) -> str:
        return f"at {register_name(self.number)}{_signed(self.offset)}"


@dataclass(frozen=True, slots=True)
class AtAddress:
    """In memory at a link-time address, to be moved by the module's slide."""

    address: int

    def __str__(self) -> str:
        return f"at {self.address:#x}"


@dataclass(frozen=True, slots=True)
class ThreadLocal:
    """In the thread's copy of the module's thread-local block, at `offset` in it."""

    offset: int

    def __str__(self) -> str:
        return f"thread-local, at {self.offset:#x} in the module's block"


@dataclass(frozen=True, slots=True)
class Constant:
    """The value itself, nowhere in memory: a number, of which the low bytes count, or its bytes."""

    value: int | bytes

    def __str__(self) -> str:
        return f"constant {self.value if isinstance(self.value, int) else self.value.hex()}"


@dataclass(frozen=True, slots=True)
class EntryValue:
    """The value that the register had at the function's entry; the caller's call site may have it."""

    number: int

    def __str__(self) -> str:
        return f"what {register_name(self.number)} was at entry"


@dataclass(frozen=True, slots=True)
class ImplicitPointer:
    """A pointer without an address: what it points to was taken apart and is at `pointee`, from `offset` bytes on.

    `die_offset`: of that object. `pointee` is OptimizedOut where the object is not there either.
    """

    die_offset: int
    offset: int
    pointee: Location

    def __str__(self) -> str:
        return f"a pointer to what is {self.pointee}" + (f", {self.offset} bytes into it" if self.offset else "")


@dataclass(frozen=True, slots=True)
class Piece:
    """`bits` of a value, which are `bit_offset` bits into what is at `location`."""

    location: Location
    bits: int
    bit_offset: int = 0


@dataclass(frozen=True, slots=True)
class Pieces:
    """A value in parts, the one with its first bytes first."""

    pieces: tuple[Piece, ...]

    def __str__(self) -> str:
        return "; ".join(f"{piece.bits} bits {piece.location}" for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Computed:
    """What the operations leave on top of the stack: the value, or the address it is at."""

    operations: tuple[Operation, ...]
    is_value: bool

    def __str__(self) -> str:
        steps = " ".join(" ".join(map(str, (step.name, *step.operands))) for step in self.operations)
        return f"{'computed' if self.is_value else 'at what is computed'} by: {steps}"


@dataclass(frozen=True, slots=True)
class OptimizedOut:
    """Nowhere. `elsewhere`: [start, end) of code where the value is somewhere; empty: it never is."""

    elsewhere: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        if not self.elsewhere:
            return "optimized out"
        return "not here, but in " + ", ".join(f"{start:#x}-{end:#x}" for start, end in self.elsewhere)


Location: TypeAlias = (
    InRegister
    | AtFrameBase
    | AtCfa
    | AtRegister
    | AtAddress
    | ThreadLocal
    | Constant
    | EntryValue
    | ImplicitPointer
    | Pieces
    | Computed
    | OptimizedOut
)
Pointee = Callable[[int], Location]  # of a DIE that an implicit pointer names
_MAX_PIECES = 256


def location_of(operations: tuple[Operation, ...], pointee: Pointee) -> Location:
    """What an expression in DW_AT_location or a location list says. ValueError where it makes no sense."""
    operations = tuple(operation for operation in operations if operation.name not in ("nop", "uninit"))
    if any(operation.name in ("piece", "bit_piece") for operation in operations):
        return _pieces(operations, pointee)
    return _whole(operations, pointee)


def _pieces(operations: tuple[Operation, ...], pointee: Pointee) -> Pieces:
    pieces: list[Piece] = []
    start = 0
    for index, operation in enumerate(operations):
        if operation.name not in ("piece", "bit_piece"):
            continue
        bits, bit_offset = _piece_size(operation)
        pieces.append(Piece(_whole(operations[start:index], pointee), bits, bit_offset))
        start = index + 1
        if len(pieces) > _MAX_PIECES:
            raise ValueError("a value in too many pieces")
    if start != len(operations):
        raise ValueError("a piece without size")
    return Pieces(tuple(pieces))


def _piece_size(operation: Operation) -> tuple[int, int]:
    if operation.name == "piece":
        return 8 * _int(operation), 0
    return _int(operation), _int(operation, 1)


def _whole(operations: tuple[Operation, ...], pointee: Pointee) -> Location:
    if not operations:
        return OptimizedOut()
    first, *rest = operations
    if not rest and first.name in ("register", "implicit_value", "implicit_pointer"):
        return _alone(first, pointee)
    if operations[-1].name == "stack_value":
        return _value(operations[:-1])
    return _static(operations) or _based(operations) or Computed(operations, is_value=False)


def _alone(operation: Operation, pointee: Pointee) -> Location:
    if operation.name == "register":
        return InRegister(_int(operation))
    if operation.name == "implicit_pointer":
        return ImplicitPointer(_int(operation), _int(operation, 1), pointee(_int(operation)))
    (content,) = operation.operands
    if not isinstance(content, bytes):
        raise ValueError("a value without bytes")
    return Constant(content)


def _value(operations: tuple[Operation, ...]) -> Location:
    if len(operations) == 1:
        (operation,) = operations
        if operation.name == "const":
            return Constant(_int(operation))
        if operation.name == "entry_value" and (register := _entry_register(operation)) is not None:
            return EntryValue(register)
    return Computed(operations, is_value=True)


def _entry_register(operation: Operation) -> int | None:
    (inner,) = operation.operands
    if isinstance(inner, tuple) and len(inner) == 1 and inner[0].name in ("register", "regval_type"):
        return _int(inner[0])
    return None


def _static(operations: tuple[Operation, ...]) -> Location | None:
    """A fixed address, or one in thread-local storage. clang names parts of merged variables by an addition."""
    first, *rest = operations
    added = 0
    while rest and rest[-1].name == "plus_uconst":
        added += _int(rest.pop())
    if first.name == "addr" and not rest:
        return AtAddress(_int(first) + added)
    if first.name in ("const", "addr") and [operation.name for operation in rest] == ["form_tls_address"]:
        return ThreadLocal(_int(first) + added)
    return None


def _based(operations: tuple[Operation, ...]) -> Location | None:
    first, *rest = operations
    found: AtFrameBase | AtCfa | AtRegister
    if first.name == "fbreg":
        found = AtFrameBase(_int(first))
    elif first.name == "call_frame_cfa":
        found = AtCfa(0)
    elif first.name == "register_plus":
        found = AtRegister(_int(first), _int(first, 1))
    else:
        return None
    if len(rest) == 2 and rest[0].name == "const" and rest[1].name in ("plus", "minus"):
        added = _int(rest[0]) if rest[1].name == "plus" else -_int(rest[0])
    elif all(operation.name == "plus_uconst" for operation in rest):
        added = sum(_int(operation) for operation in rest)
    else:
        return None
    return replace(found, offset=found.offset + added)


def _int(operation: Operation, index: int = 0) -> int:
    operand = operation.operands[index]
    if not isinstance(operand, int):
        raise ValueError(f"{operation.name} without a number")
    return operand


def _signed(offset: int) -> str:
    return f" {'-' if offset < 0 else '+'} {abs(offset)}" if offset else ""
