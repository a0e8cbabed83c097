"""The stack of a thread as it was at a crash, unwound over the copy that the recorder has made of it.

By the call frame information of the files, `.eh_frame` or `.debug_frame`. Where there is none the stack ends, and says
so. The result is what the recorder writes for stacks of events, so that both are shown alike (stacks.py).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from strobe import _abi
from strobe.dataclass import dataclass
from strobe.errors import StrobeError
from strobe.model import LoadedModule
from strobe.symbols import SymbolResolver
from strobe.symbols.dwarf.locations import AtCfa, AtRegister, InRegister, OptimizedOut
from strobe.symbols.dwarf.registers import RETURN_ADDRESS
from strobe.symbols.frames.cfi import CallFrame, CallFrames
from strobe.symbols.frames.sections import frame_sections
from strobe.symbols.objects.damage import UNREADABLE

FRAMES = 64
_RSP, _WORD = 7, 8
_UNWOUND_BY_CALLEE = frozenset((3, 6, 12, 13, 14, 15))  # registers that a function keeps for its caller
_UNKNOWN: tuple[type[BaseException], ...] = (StrobeError, *UNREADABLE)
Registers = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class CrashStack:
    """`words` and `status` as those of a recorded stack (STROBE_STACK_*), the innermost frame first."""

    words: tuple[int, ...]
    status: int


@dataclass(frozen=True, slots=True)
class _Memory:
    start: int
    content: bytes

    def word(self, address: int) -> int | None:
        """None where it was not copied."""
        at = address - self.start
        return struct.unpack_from("<Q", self.content, at)[0] if 0 <= at <= len(self.content) - _WORD else None


def stack_of(
    note: Mapping[str, Any], is_exact: bool, modules: Sequence[LoadedModule], resolver: SymbolResolver
) -> CrashStack | None:
    """None where none was copied. `is_exact`: the innermost address is an instruction, and not where a call returns
    to."""
    content = note.get("stack")
    if not content:
        return None
    memory = _Memory(note["stack_start"], content)
    tables = _Tables(modules, resolver)
    registers: dict[int, int] = dict(note["registers"])
    pc = note["stack_pc"]
    words = [pc | (_abi.STACK_INTERRUPTED if is_exact else 0)]
    if is_exact and not tables.is_code(pc):  # called, and nothing is there
        returns_to = memory.word(registers[_RSP])
        if returns_to is None or not tables.is_code(returns_to):
            return CrashStack(tuple(words), _abi.STACK_UNKNOWN)
        registers[_RSP] += _WORD
        pc, is_exact = returns_to, False
        words.append(pc)
    while len(words) < FRAMES:
        frame = tables.frame_at(pc, is_exact)
        if frame is None:
            return CrashStack(tuple(words), _abi.STACK_UNKNOWN)
        if isinstance(frame.saved.get(frame.return_register), OptimizedOut):  # so the outermost one says
            return CrashStack(tuple(words), _abi.STACK_WHOLE)
        cfa = _address_of(frame, registers)
        if cfa is None:
            return CrashStack(tuple(words), _abi.STACK_UNKNOWN)
        above = _caller(frame, registers, cfa, memory)
        returns_to = above.pop(RETURN_ADDRESS, None)
        if returns_to is None or cfa <= registers[_RSP]:
            return CrashStack(tuple(words), _abi.STACK_UNREADABLE)
        if returns_to == 0:
            return CrashStack(tuple(words), _abi.STACK_WHOLE)
        registers, pc, is_exact = above, returns_to, False
        words.append(pc)
    return CrashStack(tuple(words), _abi.STACK_LIMITED)


def _address_of(frame: CallFrame, registers: Registers) -> int | None:
    """The canonical frame address; None where it is not a register's that is known."""
    if not isinstance(frame.cfa, AtRegister) or frame.cfa.number not in registers:
        return None
    return registers[frame.cfa.number] + frame.cfa.offset


def _caller(frame: CallFrame, registers: Registers, cfa: int, memory: _Memory) -> dict[int, int]:
    """The registers of the caller that are known, the return address among them."""
    above = {number: value for number, value in registers.items() if number in _UNWOUND_BY_CALLEE}
    for number, location in frame.saved.items():
        above.pop(number, None)
        value = None
        if isinstance(location, AtCfa):
            value = memory.word(cfa + location.offset)
        elif isinstance(location, InRegister):
            value = registers.get(location.number)
        if value is not None:
            above[RETURN_ADDRESS if number == frame.return_register else number] = value
    above[_RSP] = cfa
    return above


class _Tables:
    """Call frame information by address in the process."""

    def __init__(self, modules: Sequence[LoadedModule], resolver: SymbolResolver) -> None:
        self._modules, self._resolver = modules, resolver
        self._of = lru_cache(None)(self._table)

    def is_code(self, address: int) -> bool:
        """Whether a module lies there."""
        return self._module_at(address) is not None

    def frame_at(self, pc: int, is_exact: bool) -> CallFrame | None:
        """None where nothing is known. A call may be the last instruction of its function: what it returns to is
        another one then."""
        module = self._module_at(pc)
        table = None if module is None else self._of(module.path)
        if module is None or table is None:
            return None
        frames, link_base = table
        try:
            return frames.at(pc - (not is_exact) - module.base + link_base)
        except _UNKNOWN:
            return None

    def _module_at(self, address: int) -> LoadedModule | None:
        return next((item for item in self._modules if item.base <= address < item.base + item.size), None)

    def _table(self, path: str) -> tuple[CallFrames, int] | None:
        try:
            return CallFrames(frame_sections(path, None)), self._resolver.module(path).link_base
        except _UNKNOWN:
            return None
