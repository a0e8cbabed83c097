"""What a crash event has of values: the calls that were open, the stack with its variables, freed memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from strobe._core import Segment
from strobe.dataclass import dataclass
from strobe.model import Event, LoadedModule
from strobe.session.crashes.crash import CALLS, NO_POINTER, Crash
from strobe.session.crashes.freed import freed
from strobe.session.crashes.pointers import Pointer
from strobe.session.crashes.stack import CrashStack
from strobe.session.crashes.stack_values import stack_values
from strobe.symbols import SymbolResolver
from strobe.values.decode.recorded import Block
from strobe.values.printers.known import ProjectPrinters

if TYPE_CHECKING:
    from strobe.session.session import Session

_LEAST = 1 << 16  # below, nothing is mapped
_STACK_BYTES = 1 << 20  # around the stack pointer: of a fault there, the stack was full
_RSP = 7
_ALLOCATES = re.compile(
    r"(?:free|cfree|malloc|calloc|realloc|malloc_printerr|malloc_consolidate|unlink_chunk|_int_(?:free|malloc|realloc)|"
    r"operator (?:new|delete))\b"
)
_INNERMOST = 8  # frames
NOT_TRACED = "not known whether pointers lead into freed memory: @heap was not traced"


@dataclass(frozen=True, slots=True)
class Recording:
    """What is known of the session whose program has crashed. `open_call`: a call by function and number of its entry's
    event; `stack_of`: a recorded stack as text; `filled`: an event with its stack; `attempt`: does a step, and says
    where that fails."""

    session: Session
    segment: Segment
    modules: Sequence[LoadedModule]
    resolver: SymbolResolver
    open_call: Callable[[int, int], dict[str, str]]
    stack_of: Callable[[Block, int], tuple[str, ...]]
    filled: Callable[[Event], Event]
    attempt: Callable[[str, Callable[[], object]], None]


def crash_values(found: Crash, recording: Recording) -> dict[str, Any]:
    """Plain values by name. A step that fails leaves out its own."""
    calls = [recording.open_call(function, number) for function, number in found.calls[:CALLS]]
    values = found.values | ({"calls": calls, "openCalls": found.depth} if calls else {})
    if found.stack is not None:
        recording.attempt("the stack of the crash", partial(_add_stack, values, found, found.stack, recording))
    return values


def _add_stack(values: dict[str, Any], found: Crash, stack: CrashStack, recording: Recording) -> None:
    moment = recording.segment.to_ns(found.ticks)
    printers = ProjectPrinters(recording.session.record().project_root).current()

    def named(block: Block) -> tuple[str, ...]:
        return recording.stack_of(block, moment)

    shown, pointers = stack_values(stack, named, recording.modules, recording.resolver, printers)
    values |= shown
    if "address" in values:
        pointers = [Pointer("the address of the fault", int(values["address"], 16)), *pointers]

    def add_freed() -> None:
        on_heap = [one for one in pointers if _may_be_heap(one.address, stack, recording.modules)]
        lines = freed(recording.session, on_heap, moment, recording.filled)
        if lines is None and _may_come_of_freed(values, stack, recording.modules):
            lines = [NOT_TRACED]
        values.update({"freed": lines} if lines else {})

    recording.attempt("whether pointers of the crash lead into freed memory", add_freed)


def _may_come_of_freed(values: dict[str, Any], stack: CrashStack, modules: Sequence[LoadedModule]) -> bool:
    """Whether it is one of the signs of it: a fault at an address that is neither near null nor in a module or the
    stack, or that no pointer can have; an end, or a fault, in what allocates."""
    if any(map(_ALLOCATES.match, values["stack"][:_INNERMOST])):
        return True
    if values["reason"] == NO_POINTER:
        return True
    if values["signal"] not in ("SIGSEGV", "SIGBUS") or "address" not in values:
        return False
    address, stack_pointer = int(values["address"], 16), stack.frames[0].registers.get(_RSP, 0)
    return _may_be_heap(address, stack, modules) and abs(address - stack_pointer) > _STACK_BYTES


def _may_be_heap(address: int, stack: CrashStack, modules: Sequence[LoadedModule]) -> bool:
    if address < _LEAST or stack.memory.start <= address < stack.memory.start + len(stack.memory.content):
        return False
    return not any(one.base <= address < one.base + one.size for one in modules)
