"""What is known of a program that has ended by a signal: which thread, where, and in which traced calls.

The recorder has noted it at that moment (csrc/recorder/native/crash.c); here addresses become functions and lines. What
it has not seen (no stack for a handler, a signal that is blocked) is said, and nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from signal import SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV
from typing import Any

from strobe import _abi
from strobe._core import Segment
from strobe.dataclass import dataclass, replace
from strobe.errors import StrobeError
from strobe.model import Event, LoadedModule
from strobe.session.crashes.stack import ADDRESS_BITS, CrashStack, stack_of
from strobe.session.endings import signal_name
from strobe.symbols import SymbolResolver
from strobe.symbols.objects.damage import UNREADABLE

CRASHES = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS")
_WRITE, _INSTRUCTION = 2, 16  # of the error code of a page fault
_KERNEL = 0x80  # si_code SI_KERNEL: no address is known
_REASONS = {
    (SIGFPE, 1): "integer division by zero, or its result is too large",
    (SIGFPE, 2): "integer overflow",
    (SIGFPE, 3): "floating-point division by zero",
    (SIGBUS, 1): "memory that is not aligned (the program has the CPU check that)",
    (SIGILL, 2): "illegal instruction (also __builtin_trap, and what the compiler holds to be unreachable)",
}
_UNSEEN = (
    "where it happened was not seen: the stack was full (endless recursion), the signal was blocked or ignored, the "
    "program sets its handlers by system calls of its own, or it had become another one (exec)"
)
_ABORTS = {
    _abi.CRASH_BY_ASSERTION: "an assertion failed",
    _abi.CRASH_BY_ABORT: "abort was called",
    _abi.CRASH_BY_RAISE: "raise(SIGABRT) was called",
}
_OUTLIVED = (
    "where is not known: no assertion failed and neither abort nor raise was called since the one that the program had "
    "outlived, so it was sent (kill, another process)"
)
_NEVER_SEEN = {
    "SIGABRT": "where is not known: no assertion failed and neither abort nor raise was called, so it was sent (kill, "
    "another process)",
    "SIGTRAP": "where is not known: a breakpoint instruction of the program's own (__builtin_debugtrap), or the signal "
    "was sent",
    "SIGSYS": "where is not known: a system call that a filter of the program forbids (seccomp), or it was sent",
}
NO_POINTER = "an address that no pointer can have, or an instruction that is not permitted"
CALLS = 8  # innermost traced ones that are shown
_VALUE, _CALL = 100, 400  # characters
_RSP, _WORD = 7, 8
_UNKNOWN: tuple[type[BaseException], ...] = (StrobeError, *UNREADABLE)
_NOTES = (_abi.CRASH_ENDED, _abi.CRASH_HANDLED, _abi.CRASH_ABORTED)


@dataclass(frozen=True, slots=True)
class CodeLocation:
    """An address of code. `inlined`: functions around `function`, into which it was inlined, the innermost first."""

    address: int
    module: str | None = None
    function: str | None = None
    file: str | None = None
    line: int | None = None
    inlined: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """ "insert at tree.c:12"."""
        name = self.function or f"{self.address:#x}"
        if self.file is not None:
            return f"{name} at {self.file.rpartition('/')[2]}:{self.line}"
        return name if self.module is None else f"{name} in {self.module.rpartition('/')[2]}"

    def json(self) -> dict[str, Any]:
        """What is known of it."""
        fields = {"function": self.function, "file": self.file, "line": self.line}
        found = {name: value for name, value in fields.items() if value is not None}
        if self.file is None and self.module is not None:
            found["module"] = self.module
        return found | ({"inlinedInto": list(self.inlined)} if self.inlined else {})


@dataclass(frozen=True, slots=True)
class Crash:
    """`ticks`: when. `calls`: traced ones that the thread was in, innermost first: (function id, number of the entry's
    event or 0); `depth`: how many there were. `stack`: None where it was not seen."""

    ticks: int
    thread_id: int
    text: str
    values: dict[str, Any]
    calls: tuple[tuple[int, int], ...] = ()
    depth: int = 0
    stack: CrashStack | None = None


def crash_of(
    segment: Segment,
    pid: int,
    signal: int,
    modules: Sequence[LoadedModule],
    resolver: SymbolResolver,
    went_on: Callable[[int, int, int], bool],
) -> Crash | None:
    """None where a signal has ended the program that is no fault of its own (SIGTERM). `went_on`: whether this thread
    has done something outside its innermost open call since these ticks, of so many open ones: it had outlived that."""
    name = signal_name(signal)
    if name not in CRASHES:
        return None
    notes = {kind: note for kind in _NOTES if (note := _of_process(segment, kind, pid)) is not None}
    outlived = notes.get(_abi.CRASH_ABORTED)
    if outlived is not None and not _was_outlived(outlived, went_on):
        outlived = None
    if outlived is not None:
        del notes[_abi.CRASH_ABORTED]
    note = _origin(notes, signal)
    if note is not None:
        stack = _stack(notes, signal, _is_no_code(note), modules, resolver)
        return _with_stack(_described(note, name, modules, resolver), stack, modules, resolver)
    unseen = _OUTLIVED if outlived is not None and signal == SIGABRT else _NEVER_SEEN.get(name, _UNSEEN)
    values: dict[str, Any] = {"signal": name, "unknown": unseen}
    text = f"{name}; {unseen}"
    if (handled := notes.get(_abi.CRASH_HANDLED)) is not None:
        before = _described(handled, signal_name(handled["signal"]), modules, resolver)
        values["handledBefore"] = before.values
        text += f". Before, a handler of the program's got {before.text}"
    if outlived is not None and signal == SIGABRT:
        before = _described(outlived, name, modules, resolver)
        values["outlivedBefore"] = before.values
        text += f". It had outlived {before.text}"
    return Crash(segment.now_ticks(), 0, text, values)


def _was_outlived(aborted: dict[str, Any], went_on: Callable[[int, int, int], bool]) -> bool:
    if aborted["access"] & _abi.CRASH_OUTLIVED:
        return True
    return went_on(aborted["tid"], aborted["ticks"], aborted["depth"])


def _of_process(segment: Segment, kind: int, pid: int) -> dict[str, Any] | None:
    note = segment.crash(kind)
    return note if note is not None and note["pid"] == pid else None


def _origin(notes: dict[int, dict[str, Any]], signal: int) -> dict[str, Any] | None:
    """The note of what has led to the end. A handler of the program's that got a fault ends it by abort, or by sending
    itself the signal again: then what it got says where, if the thread was still in that handler."""
    last = notes.get(_abi.CRASH_ABORTED if signal == SIGABRT else _abi.CRASH_ENDED)
    if last is None or last["signal"] != signal:
        return None
    handled = notes.get(_abi.CRASH_HANDLED)
    was_in_handler = handled is not None and last["code"] <= 0 and last["frame"] != 0
    return handled if was_in_handler and handled is not None and handled["frame"] == last["frame"] else last


def _with_stack(
    crash: Crash, stack: CrashStack | None, modules: Sequence[LoadedModule], resolver: SymbolResolver
) -> Crash:
    """Of one in a library the innermost frame of the program itself is shown, where its caller is not known."""
    if stack is None:
        return crash
    own = modules[0]
    callers = (frame.pc for frame in stack.frames[1:] if own.base <= frame.pc < own.base + own.size)
    returns_to = None if "calledFrom" in crash.values or crash.values.get("file") else next(callers, None)
    if returns_to is None or _module_at(int(crash.values["pc"], 16), modules) == own:
        return replace(crash, stack=stack)
    location = _location(returns_to - 1, modules, resolver)
    values = crash.values | {"reachedFrom": location.json()}
    return replace(crash, stack=stack, values=values, text=f"{crash.text}, reached from {location.text}")


def _stack(
    notes: dict[int, dict[str, Any]],
    signal: int,
    is_no_code: bool,
    modules: Sequence[LoadedModule],
    resolver: SymbolResolver,
) -> CrashStack | None:
    """Of the last note: where a handler of the program's has led there, it has the stack of the fault."""
    last = notes[_abi.CRASH_ABORTED if signal == SIGABRT else _abi.CRASH_ENDED]
    return stack_of(last, last["frame"] != 0 or signal != SIGABRT, is_no_code, modules, resolver)


def _is_no_code(note: dict[str, Any]) -> bool:
    """Whether the program has gone to where nothing can be run, by a call more likely than not. Code of no module may
    also be made at run time."""
    if note["signal"] not in (SIGSEGV, SIGBUS) or note["code"] <= 0:
        return False
    is_fetch = note["code"] != _KERNEL and note["access"] & _INSTRUCTION and note["address"] == note["pc"]
    return bool(is_fetch) or note["pc"] >> ADDRESS_BITS != 0


def _described(note: dict[str, Any], name: str, modules: Sequence[LoadedModule], resolver: SymbolResolver) -> Crash:
    signal, code = note["signal"], note["code"]
    has_address = signal in (SIGSEGV, SIGBUS) and code > 0 and code != _KERNEL and (signal, code) not in _REASONS
    values: dict[str, Any] = {"signal": name, "reason": _reason(note)}
    if signal_name(signal) != name:
        values["reason"] = f"{signal_name(signal)} before, which the program's own handler got: {values['reason']}"
    if has_address:
        values["address"] = f"{note['address']:#x}"
    values["pc"] = f"{note['pc']:#x}"
    # of abort it is a return address, which lies behind the call
    location = _location(note["pc"] - (signal == SIGABRT), modules, resolver)
    values |= location.json()
    text = f"{name}: {values['reason']}, "
    caller = None
    if location.module != modules[0].path or _is_no_code(note):
        caller = _caller(note, location, modules, resolver)
    if caller is not None:
        values["calledFrom"] = caller.json()
    where = f"in {location.text}"
    if location.module is None:
        where = f"at {note['pc']:#x}, " + ("where no code is" if _is_no_code(note) else "in code of no module")
    text += where if caller is None else f"{where}, called from {caller.text}"
    values["threadId"] = note["tid"]
    return Crash(note["ticks"], note["tid"], text, values, tuple(note["calls"]), note["depth"])


def _reason(note: dict[str, Any]) -> str:
    signal, code = note["signal"], note["code"]
    if signal == SIGABRT:
        return next(reason for bit, reason in _ABORTS.items() if note["access"] & bit)
    if code <= 0:
        sender = note["address"] & 0xFFFFFFFF
        return "sent by the program itself" if sender == note["pid"] else f"sent by process {sender}"
    if (signal, code) in _REASONS:
        return _REASONS[signal, code]
    if signal in (SIGSEGV, SIGBUS):
        if code == _KERNEL:
            return NO_POINTER
        kind = "execution of" if note["access"] & _INSTRUCTION else "write to" if note["access"] & _WRITE else "read of"
        return f"{kind} {note['address']:#x}"
    return f"si_code {code}"


def _caller(
    note: dict[str, Any], location: CodeLocation, modules: Sequence[LoadedModule], resolver: SymbolResolver
) -> CodeLocation | None:
    """Where the function was called from, if its return address is what the stack pointer leads to: where the call went
    to no code, and where the unwind information says so. None where that is not known."""
    if not note["caller"] or note["signal"] == SIGABRT:
        return None
    if not _is_no_code(note) and not _returns_from_top(note["pc"], modules, resolver):
        return None
    found = _location(note["caller"] - 1, modules, resolver)
    return None if found.function is None else found


def _returns_from_top(pc: int, modules: Sequence[LoadedModule], resolver: SymbolResolver) -> bool:
    """Whether the caller's frame begins one word above the stack pointer there."""
    from strobe.symbols.dwarf.locations import AtRegister
    from strobe.symbols.frames.cfi import CallFrames
    from strobe.symbols.frames.sections import frame_sections

    module = _module_at(pc, modules)
    if module is None:
        return False
    try:
        link_base = resolver.module(module.path).link_base
        layout = CallFrames(frame_sections(module.path, None)).at(pc - module.base + link_base)
    except _UNKNOWN:
        return False
    cfa = None if layout is None else layout.cfa
    return isinstance(cfa, AtRegister) and (cfa.number, cfa.offset) == (_RSP, _WORD)


def _module_at(address: int, modules: Sequence[LoadedModule]) -> LoadedModule | None:
    return next((item for item in modules if item.base <= address < item.base + item.size), None)


def _location(address: int, modules: Sequence[LoadedModule], resolver: SymbolResolver) -> CodeLocation:
    module = _module_at(address, modules)
    if module is None:
        return CodeLocation(address)
    try:
        symbols = resolver.module(module.path)
        link = address - module.base + symbols.link_base
        function = symbols.function_at(link)
        name = None if function is None else function.name
        details = resolver.details(module.path)
        if details is None:
            return CodeLocation(address, module.path, name)
        line = details.lines.at(link)
        calls = details.frames.calls_at(link)
    except _UNKNOWN:  # its symbols say less than was hoped for
        return CodeLocation(address, module.path)
    if line is None:
        return CodeLocation(address, module.path, name)
    inlined = tuple(call.name for call in calls[1:])
    return CodeLocation(address, module.path, calls[0].name if calls else name, line.file, line.line, inlined)


def call_text(event: Event) -> str:
    """A call with its arguments: "insert(tree=0x… {…}, key=5)"."""
    from strobe.values.decode import text

    values = ", ".join(f"{item.name}={_clipped(text.shown(item.value), _VALUE)}" for item in event.arguments or ())
    return _clipped(f"{event.function}({values})", _CALL)


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
