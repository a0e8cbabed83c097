"""Where the threads of a running program wait: read from outside, of those of which the kernel says where they are in a
system call. Nothing of the program is stopped."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from strobe import _abi
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
_NO_CALL = 3  # words that /proc has of a thread that waits in no system call


@dataclass(frozen=True, slots=True)
class WaitingThread:
    """`stack`: the innermost frame first, from what the program has called of the system's libraries on."""

    thread_id: int
    name: str
    stack: tuple[str, ...]


def waiting_threads(
    pid: int,
    modules: Sequence[LoadedModule],
    resolver: SymbolResolver,
    shown: Callable[[Block], tuple[str, ...]],
) -> tuple[list[WaitingThread], int]:
    """Those in whose stacks code of the program's own modules is found, in the order of their ids, and how many there
    was no time to look at. Raises OSError where it has ended. `shown`: a stack as text, a frame for each address, and
    more for those with inlined calls."""
    own = [one for one in modules if not is_system_runtime(one.path)]
    found: list[WaitingThread] = []
    until = time.monotonic() + _SECONDS
    tasks = sorted(Path(f"/proc/{pid}/task").iterdir(), key=lambda one: int(one.name))
    for looked_at, task in enumerate(tasks):
        if time.monotonic() > until or looked_at >= _MOST_THREADS:
            return found, len(tasks) - looked_at
        try:
            waits = _waits(task)
            name = (task / "comm").read_text().rstrip("\n")
            words = waits[0].split()
            if len(words) < _NO_CALL:  # it runs
                continue
            stack_pointer, pc = (int(word, 16) for word in words[-2:])
            copied = _copied(pid, stack_pointer)
            if _waits(task) != waits:  # it has run meanwhile: parts of several stacks
                continue
            note = {
                "stack": copied,
                "stack_start": stack_pointer,
                "stack_pc": pc,
                "registers": {_RSP: stack_pointer},
            }
        except (OSError, ValueError):  # it has just ended, or may not be read
            continue
        stack = stack_of(note, True, False, modules, resolver)
        if stack is None:
            continue
        inner = [at for at, frame in enumerate(stack.frames) if _is_within(frame.pc, own)]
        if inner:  # without what the system's libraries have called, and how they have begun the thread
            shown_words = stack.words[max(0, inner[0] - 1) : inner[-1] + 1]
            block = Block(_abi.EXTRA_STACK, _abi.STACK_WHOLE, 0, 0, shown_words)
            end = () if stack.status == _abi.STACK_WHOLE else (_end(stack, modules),)
            found.append(WaitingThread(int(task.name), name, (*shown(block), *end)))
    return found, 0


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
