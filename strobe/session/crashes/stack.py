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
from strobe.dataclass import dataclass, replace
from strobe.errors import StrobeError
from strobe.model import LoadedModule
from strobe.symbols import SymbolResolver
from strobe.symbols.dwarf.locations import AtCfa, AtRegister, InRegister, OptimizedOut
from strobe.symbols.dwarf.registers import RETURN_ADDRESS
from strobe.symbols.frames.cfi import CallFrame, CallFrames
from strobe.symbols.frames.sections import frame_sections
from strobe.symbols.objects.damage import UNREADABLE

FRAMES = 64
ADDRESS_BITS = 47  # of addresses that a program can have
_RSP, _WORD = 7, 8
_CONTEXT_REGISTERS = 40  # where struct ucontext has them; rip is behind them
_OF_CONTEXT = (8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7)  # DWARF's numbers
_KEPT_BY_CALLEE = frozenset((3, 6, 12, 13, 14, 15))  # registers that a function keeps for its caller
_UNKNOWN: tuple[type[BaseException], ...] = (StrobeError, *UNREADABLE)
Registers = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class StackFrame:
    """`pc`: an instruction where `is_exact`, else what a call returns to. `registers`: those that are known there, by
    DWARF's number. `is_signal`: what a signal's handler returns to."""

    pc: int
    is_exact: bool
    registers: Registers
    is_signal: bool = False

    @property
    def word(self) -> int:
        """As a recorded stack has it."""
        if self.is_signal:
            return self.pc | _abi.STACK_SIGNAL
        return self.pc | (_abi.STACK_INTERRUPTED if self.is_exact else 0)


@dataclass(frozen=True, slots=True)
class CrashStack:
    """`frames`: the innermost first; `status` as of a recorded stack (STROBE_STACK_*)."""

    frames: tuple[StackFrame, ...]
    status: int
    memory: StackCopy

    @property
    def words(self) -> tuple[int, ...]:
        """Of all frames."""
        return tuple(frame.word for frame in self.frames)


@dataclass(frozen=True, slots=True)
class StackCopy:
    """`content`: of the stack, from the address `start` on."""

    start: int
    content: bytes

    def read(self, address: int, size: int) -> bytes | None:
        """None where not all of it was copied."""
        at = address - self.start
        return self.content[at : at + size] if 0 <= at <= len(self.content) - size else None

    def word(self, address: int) -> int | None:
        """None where it was not copied."""
        at = address - self.start
        return struct.unpack_from("<Q", self.content, at)[0] if 0 <= at <= len(self.content) - _WORD else None


def stack_of(
    note: Mapping[str, Any],
    is_exact: bool,
    is_no_code: bool,
    modules: Sequence[LoadedModule],
    resolver: SymbolResolver,
) -> CrashStack | None:
    """None where none was copied. `is_exact`: the innermost address is an instruction, and not where a call returns
    to; `is_no_code`: nothing can be run there, so that it was called just now."""
    content = note.get("stack")
    if not content:
        return None
    memory = StackCopy(note["stack_start"], content)
    frames = [StackFrame(note["stack_pc"], is_exact, dict(note["registers"]))]
    status = _unwind(frames, memory, is_no_code, _Tables(modules, resolver))
    return CrashStack(tuple(frames), status, memory)


def _unwind(frames: list[StackFrame], memory: StackCopy, is_no_code: bool, tables: _Tables) -> int:
    """Adds the callers of the first frame. Why there are no more."""
    first = frames[0]
    if first.is_exact and is_no_code:
        returns_to = memory.word(first.registers[_RSP])
        if returns_to is None or not tables.is_code(returns_to):
            return _abi.STACK_UNKNOWN
        above = {number: first.registers[number] for number in _KEPT_BY_CALLEE if number in first.registers}
        frames.append(StackFrame(returns_to, False, above | {_RSP: first.registers[_RSP] + _WORD}))
    while len(frames) < FRAMES:
        here = frames[-1]
        layout = tables.frame_at(here.pc, here.is_exact)
        if layout is None:
            return _abi.STACK_UNKNOWN
        if layout.is_signal_frame and not here.is_exact:
            interrupted = _interrupted(here, memory)
            if interrupted is None:
                return _abi.STACK_UNREADABLE
            frames[-1] = replace(here, is_signal=True)
            frames.append(interrupted)
            continue
        if isinstance(layout.saved.get(layout.return_register), OptimizedOut):  # so the outermost one says
            return _abi.STACK_WHOLE
        cfa = _address_of(layout, here.registers)
        if cfa is None:
            return _abi.STACK_UNKNOWN
        registers = _caller(layout, here.registers, cfa, memory)
        returns_to = registers.pop(RETURN_ADDRESS, None)
        if returns_to is None or cfa <= here.registers[_RSP] or returns_to >> ADDRESS_BITS:
            return _abi.STACK_UNREADABLE
        if returns_to == 0:
            return _abi.STACK_WHOLE
        frames.append(StackFrame(returns_to, False, registers))
    return _abi.STACK_LIMITED


def _interrupted(handled: StackFrame, memory: StackCopy) -> StackFrame | None:
    """The instruction at which the signal came: the kernel has put its registers where the handler returns to."""
    context = handled.registers[_RSP] + _CONTEXT_REGISTERS
    values = [memory.word(context + _WORD * index) for index in range(len(_OF_CONTEXT) + 1)]
    if None in values:
        return None
    known = {number: value for number, value in zip(_OF_CONTEXT, values, strict=False) if value is not None}
    return StackFrame(values[-1] or 0, True, known)


def _address_of(frame: CallFrame, registers: Registers) -> int | None:
    """The canonical frame address; None where it is not a register's that is known."""
    if not isinstance(frame.cfa, AtRegister) or frame.cfa.number not in registers:
        return None
    return registers[frame.cfa.number] + frame.cfa.offset


def _caller(frame: CallFrame, registers: Registers, cfa: int, memory: StackCopy) -> dict[int, int]:
    """The registers of the caller that are known, the return address among them."""
    above = {number: value for number, value in registers.items() if number in _KEPT_BY_CALLEE}
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
