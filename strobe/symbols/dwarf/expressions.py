"""DWARF expressions as lists of operations, spelled one way whatever the producer wrote (DWARF 5, section 2.5).

`lit5`, `const1u 5` and `constu 5` are `const 5`; `reg3` is `register 3`; `breg7 8` is `register_plus 7 8`; GNU's forms
of DWARF 4 are those of DWARF 5; indexes are resolved; a jump names the number of the operation it goes to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from strobe.dataclass import dataclass

_MAX_NESTED = 4
_MAX_BYTES = 1 << 16  # of one expression; the longest of real ones have some hundred


@dataclass(frozen=True, slots=True)
class BaseType:
    """How a value on the stack is to be read. `encoding`: DW_ATE_*, 0 for a plain address-sized number."""

    encoding: int
    size: int


@dataclass(frozen=True, slots=True)
class Operation:
    """One step. `name` as in DWARF 5 without DW_OP_, save for what the module's first lines say.

    Operands: numbers; bytes (implicit_value); a BaseType (the typed ones); operations (entry_value). `addr` is a
    link-time address. `implicit_pointer`, `call`, `parameter_ref`, `variable_value` name a DIE in .debug_info.
    """

    name: str
    operands: tuple[Operand, ...] = ()


Operand: TypeAlias = int | bytes | BaseType | tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the bytes of an expression depend on: sizes of its unit, and what its indexes and DIE offsets lead to.

    `first_register`: what numbers of registers count from; those of another machine than x86-64 lie apart.
    """

    version: int
    address_size: int
    offset_size: int
    unit_offset: int
    address: Callable[[int], int]  # by index in .debug_addr
    base_type: Callable[[int], BaseType]  # by offset of its DIE
    first_register: int = 0


GENERIC = BaseType(0, 8)
_OF_REGISTERS = ("register", "register_plus", "regval_type")  # their first operand is one

# What follows an operation's byte. Capital letters: LEB128 (U, S), an address (A), a DIE of the unit (D), one of the
# file (R), an index (X), bytes after a LEB128 length (B), an expression after one (E). Small ones: b h w q are 1, 2, 4
# and 8 bytes with sign, c i l u without; j is a jump, k bytes after a length of one byte, d and e a DIE of the unit in
# 2 and 4 bytes.
_PLAIN: dict[int, tuple[str, str]] = {
    0x03: ("addr", "A"),
    0x06: ("deref", ""),
    0x08: ("const", "c"),
    0x09: ("const", "b"),
    0x0A: ("const", "i"),
    0x0B: ("const", "h"),
    0x0C: ("const", "l"),
    0x0D: ("const", "w"),
    0x0E: ("const", "u"),
    0x0F: ("const", "q"),
    0x10: ("const", "U"),
    0x11: ("const", "S"),
    0x12: ("dup", ""),
    0x13: ("drop", ""),
    0x14: ("over", ""),
    0x15: ("pick", "c"),
    0x16: ("swap", ""),
    0x17: ("rot", ""),
    0x18: ("xderef", ""),
    0x19: ("abs", ""),
    0x1A: ("and", ""),
    0x1B: ("div", ""),
    0x1C: ("minus", ""),
    0x1D: ("mod", ""),
    0x1E: ("mul", ""),
    0x1F: ("neg", ""),
    0x20: ("not", ""),
    0x21: ("or", ""),
    0x22: ("plus", ""),
    0x23: ("plus_uconst", "U"),
    0x24: ("shl", ""),
    0x25: ("shr", ""),
    0x26: ("shra", ""),
    0x27: ("xor", ""),
    0x28: ("bra", "j"),
    0x29: ("eq", ""),
    0x2A: ("ge", ""),
    0x2B: ("gt", ""),
    0x2C: ("le", ""),
    0x2D: ("lt", ""),
    0x2E: ("ne", ""),
    0x2F: ("skip", "j"),
    0x90: ("register", "U"),
    0x91: ("fbreg", "S"),
    0x92: ("register_plus", "US"),
    0x93: ("piece", "U"),
    0x94: ("deref_size", "c"),
    0x95: ("xderef_size", "c"),
    0x96: ("nop", ""),
    0x97: ("push_object_address", ""),
    0x98: ("call", "d"),
    0x99: ("call", "e"),
    0x9A: ("call", "R"),
    0x9B: ("form_tls_address", ""),
    0x9C: ("call_frame_cfa", ""),
    0x9D: ("bit_piece", "UU"),
    0x9E: ("implicit_value", "B"),
    0x9F: ("stack_value", ""),
    0xA0: ("implicit_pointer", "RS"),
    0xA1: ("addr", "X"),
    0xA2: ("const", "X"),
    0xA3: ("entry_value", "E"),
    0xA4: ("const_type", "Dk"),
    0xA5: ("regval_type", "UD"),
    0xA6: ("deref_type", "cD"),
    0xA7: ("xderef_type", "cD"),
    0xA8: ("convert", "D"),
    0xA9: ("reinterpret", "D"),
    0xE0: ("form_tls_address", ""),
    0xF0: ("uninit", ""),
    0xF2: ("implicit_pointer", "RS"),
    0xF3: ("entry_value", "E"),
    0xF4: ("const_type", "Dk"),
    0xF5: ("regval_type", "UD"),
    0xF6: ("deref_type", "cD"),
    0xF7: ("convert", "D"),
    0xF9: ("reinterpret", "D"),
    0xFA: ("parameter_ref", "e"),
    0xFB: ("addr", "X"),
    0xFC: ("const", "X"),
    0xFD: ("variable_value", "R"),
}
_WIDTHS = {"b": (1, True), "h": (2, True), "w": (4, True), "q": (8, True)} | {
    "c": (1, False),
    "i": (2, False),
    "l": (4, False),
    "u": (8, False),
}
_DIE_OPERATIONS = frozenset({"call", "parameter_ref"})


def operations_of(content: bytes, around: Surroundings) -> tuple[Operation, ...]:
    """Raises ValueError where the bytes are not an expression."""
    return _Decoder(content, around, 0).run()


class _Decoder:
    def __init__(self, content: bytes, around: Surroundings, depth: int) -> None:
        if len(content) > _MAX_BYTES or depth > _MAX_NESTED:
            raise ValueError("an unterminated expression")
        self._content = content
        self._around = around
        self._depth = depth
        self._position = 0

    def run(self) -> tuple[Operation, ...]:
        found: list[Operation] = []
        starts: dict[int, int] = {}  # where each operation begins -> its number
        while self._position < len(self._content):
            starts[self._position] = len(found)
            found.append(self._with_register(self._operation()))
        starts[self._position] = len(found)
        return tuple(_with_target(operation, starts) for operation in found)

    def _operation(self) -> Operation:
        code = self._number(1)
        if 0x30 <= code <= 0x4F:
            return Operation("const", (code - 0x30,))
        if 0x50 <= code <= 0x6F:
            return Operation("register", (code - 0x50,))
        if 0x70 <= code <= 0x8F:
            return Operation("register_plus", (code - 0x70, self._leb(True)))
        if code not in _PLAIN:
            raise ValueError(f"an unknown operation {code:#x}")
        name, kinds = _PLAIN[code]
        return Operation(name, tuple(self._operand(kind) for kind in kinds))

    def _with_register(self, operation: Operation) -> Operation:
        if not self._around.first_register or operation.name not in _OF_REGISTERS:
            return operation
        number, *rest = operation.operands
        assert isinstance(number, int)
        return Operation(operation.name, (number + self._around.first_register, *rest))

    def _operand(self, kind: str) -> Operand:
        around = self._around
        if kind in _WIDTHS:
            return self._number(*_WIDTHS[kind])
        if kind in "US":
            return self._leb(kind == "S")
        if kind == "A":
            return self._number(around.address_size)
        if kind == "R":  # DWARF 2 took it for an address
            return self._number(around.address_size if around.version == 2 else around.offset_size)
        if kind == "D":
            offset = self._leb(False)
            return around.base_type(around.unit_offset + offset) if offset else GENERIC
        if kind in "de":
            return around.unit_offset + self._number(2 if kind == "d" else 4)
        if kind == "X":
            return around.address(self._leb(False))
        if kind == "j":
            return self._number(2, True) + self._position
        if kind == "k":
            return self._bytes(self._number(1))
        content = self._bytes(self._leb(False))
        return content if kind == "B" else _Decoder(content, around, self._depth + 1).run()

    def _bytes(self, count: int) -> bytes:
        start, end = self._position, self._position + count
        if end > len(self._content):
            raise ValueError("a truncated expression")
        self._position = end
        return self._content[start:end]

    def _number(self, width: int, signed: bool = False) -> int:
        return int.from_bytes(self._bytes(width), "little", signed=signed)

    def _leb(self, signed: bool) -> int:
        value = shift = 0
        while True:
            byte = self._number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value


def _with_target(operation: Operation, starts: dict[int, int]) -> Operation:
    if operation.name not in ("bra", "skip"):
        return operation
    (target,) = operation.operands
    if not isinstance(target, int) or target not in starts:
        raise ValueError("a jump into the middle of an operation")
    return Operation(operation.name, (starts[target],))
