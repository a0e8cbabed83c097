"""Parameters and locals of the frames of a crash, read in the copy of the stack and in the registers of each frame.

What a variable in memory elsewhere holds is not known any more, nor what pointers lead to, unless that is on the stack.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from strobe import _abi
from strobe.dataclass import dataclass
from strobe.errors import StrobeError
from strobe.model import LoadedModule
from strobe.session.crashes.pointers import Pointer, pointers_of
from strobe.session.crashes.stack import CrashStack, Registers, StackCopy, StackFrame
from strobe.symbols import SymbolResolver
from strobe.symbols.objects.damage import UNREADABLE
from strobe.values.decode import text
from strobe.values.lookup.address_scope import scope_of_address
from strobe.values.lookup.scope import Module, Scope
from strobe.values.memory.process_memory import Code, ProcessMemory
from strobe.values.memory.recipes import STEP_BYTES, Item, run, with_bases
from strobe.values.printers.known import Printers
from strobe.values.reading import ReadResult, prepared_at

_FRAMES = 8  # with variables, at most
_NAMES = 16  # of a frame
_CHARACTERS = 160  # of a value
_DEPTH = 1
_REGISTERS = 0xFFFF_F800_0000_0000  # where the registers are for recipes: an address of the kernel's
_OPTIMIZED_OUT = "<optimized out>"
_SYSTEM = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")  # the C library may have debug information, too
_LIBRARIES = ("/usr/", "/rustc/")
_NOT_KEPT = (" is optimized out", " is known only as what ", " is in parts")
_UNREAD = re.compile(r"Address not readable: (0x[0-9a-f]+)")
_LEADS_ELSEWHERE = re.compile(r" -> Address not readable: 0x[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Variable:
    """`text`: its value; `pointers`: addresses in it, the own one first."""

    text: str
    pointers: tuple[Pointer, ...]


Variables = dict[str, Variable]
_UNKNOWN: tuple[type[BaseException], ...] = (StrobeError, *UNREADABLE)


def variables_of(
    stack: CrashStack, modules: Sequence[LoadedModule], resolver: SymbolResolver, printers: Printers
) -> list[list[Variables]]:
    """Of each frame its variables by name, as text: first those of the innermost inlined call. Nothing of frames
    without debug information, of the system's libraries and of their templates, and of those behind the first ones
    that have some."""
    found: list[list[Variables]] = []
    known: dict[str, Module | None] = {}
    for frame in stack.frames:
        is_enough = sum(bool(one) for one in found) == _FRAMES
        loaded = next((one for one in modules if one.base <= frame.pc < one.base + one.size), None)
        if is_enough or loaded is None or loaded.path.startswith(_SYSTEM):
            found.append([])
            continue
        if loaded.path not in known:
            known[loaded.path] = _module(loaded, resolver)
        module = known[loaded.path]
        try:
            found.append([] if module is None else _of_frame(frame, stack.memory, module, printers))
        except _UNKNOWN:
            found.append([])
    return found


def _module(loaded: LoadedModule, resolver: SymbolResolver) -> Module | None:
    """None without debug information."""
    try:
        details = resolver.details(loaded.path)
        symbols = resolver.module(loaded.path)
    except _UNKNOWN:
        return None
    return None if details is None else Module(loaded.path, loaded.base, loaded.size, symbols, details)


def _of_frame(frame: StackFrame, memory: StackCopy, module: Module, printers: Printers) -> list[Variables]:
    """A call may be the last instruction of a block: what is in scope is looked up before its end."""
    link = frame.pc - (not frame.is_exact) - module.slide
    names, scope = scope_of_address(link, module, None), Scope(module, list, None, printers)
    names.names_lines = False
    own_memory = _FrameMemory(memory, frame.registers)
    found: list[Variables] = []
    for call, own in zip(names.calls, names.names_by_call, strict=True):
        is_library = (call.file or "").startswith(_LIBRARIES)
        wanted = {} if is_library else dict(own[::-1][:_NAMES])  # parameters first
        read = prepared_at(list(wanted.values()), _DEPTH, scope, names, own_memory).read(module.name_at)
        texts = {name: (_text(result), result) for name, result in zip(wanted, read, strict=True)}
        found.append({name: Variable(text, _pointers(name, own)) for name, (text, own) in texts.items() if text})
    return found


def _text(result: ReadResult) -> str:
    """Empty where nothing is known but that it has no value here."""
    if result.error is not None:
        message = result.error.message
        unread = _UNREAD.match(message)
        if unread is not None and int(unread[1], 16) < _REGISTERS:  # of what a reference is to, on the heap mostly
            return f"<not copied, at {unread[1]}>"
        is_lost = unread is not None or any(reason in message for reason in _NOT_KEPT)
        return _OPTIMIZED_OUT if is_lost else ""
    shown = _UNREAD.sub("<not copied>", _LEADS_ELSEWHERE.sub("", text.shown(result.value)))
    return shown if len(shown) <= _CHARACTERS else f"{shown[: _CHARACTERS - 1]}…"


def _pointers(name: str, result: ReadResult) -> tuple[Pointer, ...]:
    if result.error is None:
        return tuple(pointers_of(name, result.value))
    unread = _UNREAD.match(result.error.message)  # of what a reference is to
    return (Pointer(name, int(unread[1], 16)),) if unread is not None and int(unread[1], 16) < _REGISTERS else ()


class _FrameMemory(ProcessMemory):
    """The copied stack, and the registers of one frame at an address of their own."""

    def __init__(self, stack: StackCopy, registers: Registers) -> None:
        super().__init__(0)
        self._stack, self._registers = stack, registers
        self._blocks: list[tuple[int, ...]] = []

    def run(self, recipes: Sequence[Code]) -> list[list[Item]]:
        """Steps that lead to words of a call lead to these registers."""
        moved = [(with_bases(code, self._base_of), size, items) for code, size, items in recipes]
        return run(self.pid, moved, self._read)

    def _base_of(self, numbers: tuple[int, ...]) -> int:
        self._blocks.append(numbers)
        return _REGISTERS + (len(self._blocks) - 1) * _abi.PASSED_WORDS * STEP_BYTES

    def _read(self, address: int, size: int) -> bytes | None:
        if address < _REGISTERS:
            return self._stack.read(address, size)
        block, offset = divmod(address - _REGISTERS, _abi.PASSED_WORDS * STEP_BYTES)
        values = [self._registers.get(number) for number in self._blocks[block]]
        words = [None if value is None else value.to_bytes(8, "little") for value in values]
        wanted = words[offset // 8 : (offset + size + 7) // 8]
        if not wanted or None in wanted:
            return None
        content = b"".join(word for word in wanted if word is not None)[offset % 8 :][:size]
        return content if len(content) == size else None
