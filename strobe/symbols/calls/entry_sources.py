"""Where debug information itself has a parameter at its function's first byte: evidence for or against the ABI."""

from __future__ import annotations

from functools import lru_cache

from strobe.dataclass import dataclass
from strobe.symbols.calls.system_v import DWARF_TO_SOURCE, STACK, Sources

# DWARF 5, section 7.7.1
_OP_REG0 = 0x50
_OP_BREG0, _OP_BREG31 = 0x70, 0x8F
_OP_FBREG, _OP_PIECE, _OP_CALL_FRAME_CFA = 0x91, 0x93, 0x9C
_RBP, _RSP = 6, 7
_REGISTER_BASES = (bytes([_OP_REG0 + _RBP]), bytes([_OP_REG0 + _RSP]))
_WORD_BYTES = 8
_RSP_FROM_CFA = -8  # at the first byte


@dataclass(frozen=True, slots=True)
class Seen:
    """`sources`: those named, () if there are none. `in_frame`: it lies in the frame, wherever the code is."""

    sources: Sources = ()
    in_frame: bool = False

    @property
    def is_below(self) -> bool:
        """In the frame, and not among what the caller passes on the stack."""
        return self.in_frame and not self.sources

    def contradicts(self, assigned: Sources | None) -> bool:
        """Whether debug information names another source than the ABI assigns; without a name there is no evidence."""
        if not assigned:
            return False
        return self.sources[: len(assigned)] != assigned[: len(self.sources)]

    def confirms(self, assigned: Sources | None) -> bool:
        """All words, or the first of those on the stack: what lies in memory lies there whole."""
        if not assigned or not self.sources:
            return False
        return self.sources == assigned or (assigned[0] >= STACK and self.sources == assigned[:1])


@lru_cache(maxsize=1 << 12)  # a program has few different ones
def seen_at_entry(expression: bytes, is_list: bool, frame_base: bytes) -> Seen:
    """`expression`: what holds at the first byte, there alone where `is_list`. `frame_base`: the function's."""
    base = _frame_base(frame_base)
    if is_list:
        return _seen(expression, _RSP_FROM_CFA if base is None else base, _RSP_FROM_CFA)
    return _seen(expression, base, None)


def frame_slot(expression: bytes, frame_base: bytes) -> tuple[int, int] | None:
    """(rbp or rsp as DWARF numbers them, offset) of what lies at an offset of that register for the whole function."""
    if expression[:1] != bytes([_OP_FBREG]) or frame_base not in _REGISTER_BASES:
        return None
    offset, size = _sleb(expression[1:])
    return (frame_base[0] - _OP_REG0, offset) if size == len(expression) - 1 else None


def _seen(expression: bytes, frame_base: int | None, stack_pointer: int | None) -> Seen:
    """Both bases are relative to the CFA, which lies right above the return address; None where not known."""
    if not expression:
        return Seen()
    operation, operand = expression[0], expression[1:]
    if operand == b"\0" and operation - _OP_BREG0 in DWARF_TO_SOURCE:  # what it points to: passed by reference
        return Seen((DWARF_TO_SOURCE[operation - _OP_BREG0],))
    if operation == _OP_FBREG:
        return Seen(_stack_source(operand, frame_base), in_frame=True)
    if operation == _OP_BREG0 + _RSP:
        return Seen(_stack_source(operand, stack_pointer), in_frame=True)
    if _OP_BREG0 <= operation <= _OP_BREG31:
        return Seen(in_frame=True)
    return Seen(_registers(expression))


def _stack_source(operand: bytes, base: int | None) -> Sources:
    offset, size = _sleb(operand)
    if base is None or size != len(operand) or offset + base < 0 or (offset + base) % _WORD_BYTES:
        return ()
    return (STACK + (offset + base) // _WORD_BYTES,)


def _registers(expression: bytes) -> Sources:
    """Whole words in registers, one after the other: `reg5`, `reg5 piece 8 reg4 piece 8`. () for anything else."""
    sources = []
    rest = expression
    while rest:
        register = DWARF_TO_SOURCE.get(rest[0] - _OP_REG0)
        has_piece = len(rest) >= 3 and rest[1] == _OP_PIECE
        if register is None or (len(rest) > 1 and not has_piece) or (len(rest) > 3 and rest[2] != _WORD_BYTES):
            return ()
        sources.append(register)
        rest = rest[3:]
    return tuple(sources)


def _frame_base(expression: bytes) -> int | None:
    """A frame base that is rbp lies below the return address and the caller's rbp, once it is set."""
    if expression == bytes([_OP_CALL_FRAME_CFA]):
        return 0
    return -2 * _WORD_BYTES if expression == bytes([_OP_REG0 + _RBP]) else None


def _sleb(operand: bytes) -> tuple[int, int]:
    """The number and how many bytes it has; 0 bytes where it does not end."""
    value = 0
    for index, byte in enumerate(operand):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value - ((byte & 0x40) << 7 * index + 1), index + 1
    return 0, 0
