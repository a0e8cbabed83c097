"""Where the threads of a running program are, read from outside. Of one that waits the kernel says where it is in its
system call; one that runs is held for the millisecond that it takes to read its stack."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from strobe import _abi, _core
from strobe.dataclass import dataclass
from strobe.model import LoadedModule
from strobe.session.crashes.stack import CrashStack, stack_of
from strobe.symbols import SymbolResolver
from strobe.symbols.select.never_hooked import is_system_runtime
from strobe.values.decode.recorded import Block

_RSP = 7  # of DWARF
_COPIED = 1 << 16  # bytes of a stack
_MOST_THREADS = 200
_SECONDS = 3.0
_NO_CALL = 3  # words that /proc has of a thread that is not running, and in no system call
_TRIES = 100  # one that calls hooked functions all the time is mostly in the recorder's code, which has no frames
_MOST_HELD = 300
_IN_RECORDER = "<in Strobe's own code whenever it was looked at: it calls traced functions all the time>"
_HELD_MS = 100  # at most: a busy machine may give the one that reads no CPU


@dataclass(frozen=True, slots=True)
class ThreadStack:
    """`stack`: the innermost frame first, from what the program has called of the system's libraries on."""

    thread_id: int
    name: str
    is_running: bool
    stack: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Copied:
    """Its stack, and where it is. `registers` that are known, by their numbers in DWARF."""

    is_running: bool
    pc: int
    stack_pointer: int
    stack: bytes
    registers: dict[int, int]


def thread_stacks(
    pid: int,
    modules: Sequence[LoadedModule],
    resolver: SymbolResolver,
    shown: Callable[[Block], tuple[str, ...]],
    recorded: Collection[int],
) -> tuple[list[ThreadStack], int]:
    """Those in whose stacks code of the program's own modules is found, in the order of their ids, and how many there
    was no time to look at. Raises OSError where it has ended. `shown`: a stack as text, a frame for each address, and
    more for those with inlined calls. `recorded`: ids of threads that have called what is traced."""
    own = [one for one in modules if not is_system_runtime(one.path)]
    found: list[ThreadStack] = []
    until = time.monotonic() + _SECONDS
    held = 0
    tasks = sorted(Path(f"/proc/{pid}/task").iterdir(), key=lambda one: int(one.name))
    for looked_at, task in enumerate(tasks):
        if time.monotonic() > until or looked_at >= _MOST_THREADS:
            return found, len(tasks) - looked_at
        try:
            name = (task / "comm").read_text(errors="replace").rstrip("\n")
            copied = _of_waiting(pid, task)
            shown_words = None if copied is None else _own_words(copied, modules, own, resolver)
            is_running = copied is None
            for _ in range(_TRIES if copied is None else 0):
                if held >= _MOST_HELD or shown_words is not None or time.monotonic() > until:
                    break
                held += 1
                copied = _of_running(pid, task)
                shown_words = None if copied is None else _own_words(copied, modules, own, resolver)
            if shown_words is None and is_running and int(task.name) in recorded:
                found.append(ThreadStack(int(task.name), name, True, (_IN_RECORDER,)))
                continue
        except (OSError, ValueError):  # it has just ended, or may not be read
            continue
        if copied is not None and shown_words is not None:
            words, end = shown_words
            stack = (*shown(Block(_abi.EXTRA_STACK, _abi.STACK_WHOLE, 0, 0, words)), *end)
            found.append(ThreadStack(int(task.name), name, copied.is_running, stack))
    return found, 0


def _of_waiting(pid: int, task: Path) -> _Copied | None:
    """None where it runs, or has run meanwhile: then there are parts of several stacks."""
    waits = _waits(task)
    copied = _at(pid, waits[0])
    return copied if copied is not None and _waits(task) == waits else None


def _of_running(pid: int, task: Path) -> _Copied | None:
    """None where it cannot be held."""
    held = _core.HeldThreads([int(task.name)], _HELD_MS)
    try:
        registers = held.registers(int(task.name))
        copied = _at(pid, (task / "syscall").read_text(), dict(enumerate(registers))) if registers else None
    finally:
        was_in_time = held.release()
    return copied if was_in_time else None


def _at(pid: int, syscall: str, registers: dict[int, int] | None = None) -> _Copied | None:
    """`syscall`: as /proc has it. None where the thread runs."""
    words = syscall.split()
    if len(words) < _NO_CALL:
        return None
    stack_pointer, pc = (int(word, 16) for word in words[-2:])
    known = {_RSP: stack_pointer} if registers is None else registers
    return _Copied(registers is not None, pc, stack_pointer, _copied(pid, stack_pointer), known)


def _own_words(
    copied: _Copied, modules: Sequence[LoadedModule], own: Sequence[LoadedModule], resolver: SymbolResolver
) -> tuple[Sequence[int], tuple[str, ...]] | None:
    """The frames, without what the system's libraries have called, and how they have begun the thread; and why there
    are no more. None where there is none of the program's own."""
    note = {
        "stack": copied.stack,
        "stack_start": copied.stack_pointer,
        "stack_pc": copied.pc,
        "registers": copied.registers,
    }
    stack = stack_of(note, True, False, modules, resolver)
    inner = [] if stack is None else [at for at, frame in enumerate(stack.frames) if _is_within(frame.pc, own)]
    if stack is None or not inner:
        return None
    end = () if stack.status == _abi.STACK_WHOLE else (_end(stack, modules),)
    return stack.words[max(0, inner[0] - 1) : inner[-1] + 1], end


def _end(stack: CrashStack, modules: Sequence[LoadedModule]) -> str:
    """Why there are no more frames. A traced call returns to Strobe's own code, which is in no module."""
    if not _is_within(stack.frames[-1].pc, modules):
        return "<a traced call: its events have its callers>"
    return "<the stack goes on>"


def _waits(task: Path) -> tuple[str, str]:
    """In which system call, and how often the thread has waited, or had to, so far."""
    status = (task / "status").read_text(errors="replace")  # names are any bytes
    return (task / "syscall").read_text(), status[status.rindex("\nvoluntary_ctxt_switches") :]


def _copied(pid: int, address: int) -> bytes:
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        return os.pread(memory.fileno(), _COPIED, address)


def _is_within(address: int, modules: Sequence[LoadedModule]) -> bool:
    return any(one.base <= address < one.base + one.size for one in modules)
