"""Calls made of events: an enter and, where it came, its exit; and the tree that calls form.

Works on any run of events in time order, complete or filtered. A frame that was left by an exception, longjmp or the
end of its thread has no exit: the next event of its thread at the same or a lower depth shows that it is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from strobe.model import Event, Value


@dataclass(eq=False, slots=True)
class Call:
    """One call of a traced function. Times in ns, `start_ns` since session start.

    `arguments` maps parameter names to values, in their order; "arg0", "arg1" … where names are not known, empty where
    nothing is. `watched` and `watched_at_return` map the names of watches to what they were then. `duration_ns` and
    `return_value` are None for a call that did not return (yet). `parent` and
    `children` are of the same list of calls: traced functions that were not asked for are not among them.
    """

    id: str
    function: str
    arguments: dict[str, Value]
    start_ns: int
    thread: str
    thread_id: int
    pid: int
    depth: int
    source_file: str | None = None
    line: int | None = None
    sampled: bool = False
    return_value: Value = None
    return_type: str | None = None
    duration_ns: int | None = None
    watched: dict[str, Any] = field(default_factory=dict)
    watched_at_return: dict[str, Any] = field(default_factory=dict)
    parent: Call | None = field(default=None, repr=False)
    children: list[Call] = field(default_factory=list, repr=False)

    @property
    def returned(self) -> bool:
        return self.duration_ns is not None

    def child(self, function: str) -> Call | None:
        """The first call of `function` that this one made directly."""
        return next((call for call in self.children if call.function == function), None)


def pair(events: Iterable[Event]) -> list[Call]:
    """Calls in order of their start, linked as parent and children. An exit whose enter is missing gives none."""
    calls: list[Call] = []
    stacks: dict[int, list[Call]] = {}
    for event in events:
        if event.event_type == "function_enter":
            calls.append(_enter(event, stacks.setdefault(event.thread_id, [])))
        elif event.event_type == "function_exit":
            _exit(event, stacks.setdefault(event.thread_id, []))
    return calls


def _enter(event: Event, stack: list[Call]) -> Call:
    call = _call(event)
    while stack and stack[-1].depth >= call.depth:
        stack.pop()
    if stack:
        call.parent = stack[-1]
        call.parent.children.append(call)
    stack.append(call)
    return call


def _exit(event: Event, stack: list[Call]) -> None:
    depth = event.depth or 0
    while stack and stack[-1].depth > depth:
        stack.pop()
    if stack and stack[-1].depth == depth and stack[-1].function == event.function:
        call = stack.pop()
        call.duration_ns = event.duration_ns
        call.return_value = event.return_value
        call.return_type = event.return_type
        call.watched_at_return = event.watch_values or {}


def _call(event: Event) -> Call:
    arguments = event.arguments or ()
    return Call(
        id=event.id,
        function=event.function or "?",
        arguments={item.name or f"arg{index}": item.value for index, item in enumerate(arguments)},
        start_ns=event.timestamp_ns,
        thread=event.thread_name,
        thread_id=event.thread_id,
        pid=event.pid,
        depth=event.depth or 0,
        source_file=event.source_file,
        line=event.line,
        sampled=event.sampled,
        return_type=event.return_type,
        watched=event.watch_values or {},
    )
