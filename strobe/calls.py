"""Calls made of events: an enter and, where it came, its exit; and the tree that calls form.

Each event names the one above it, so calls find their parent and their exit by that. Where it does not (deep below what
a chunk of the recording remembers) depths are gone by: a frame that was left by an exception, longjmp or the end of its
thread has no exit, and the next event of its thread at the same or a lower depth shows that it is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from strobe.dataclass import dataclass, field
from strobe.model import Event, Value


@dataclass(eq=False, slots=True)
class Call:
    """One call of a traced function. Times in ns, `start_ns` since session start.

    `arguments` maps parameter names to values, in their order; "arg0", "arg1" … where names are not known, empty where
    nothing is. `stack`: its callers, the innermost first, "function file:line"; None where none was asked for.
    `watched` and `watched_at_return` map the names of watches to what they were then. `duration_ns` and `return_value`
    are None for a call that did not return (yet).
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
    stack: tuple[str, ...] | None = None
    return_value: Value = None
    return_type: str | None = None
    duration_ns: int | None = None
    watched: dict[str, Any] = field(default_factory=dict)
    watched_at_return: dict[str, Any] = field(default_factory=dict)
    _parent: Call | None = field(default=None, repr=False)
    _children: list[Call] = field(default_factory=list, repr=False)
    _link: Callable[[], None] | None = field(default=None, repr=False)  # finds both, of a filtered list

    @property
    def parent(self) -> Call | None:
        """The call of a traced function that made this one, asked for or not; None for an outermost call.

        Of a list that was filtered it is looked for on first use; raises StrobeError when the session is closed then.
        """
        self._find_links()
        return self._parent

    @property
    def children(self) -> list[Call]:
        """The calls of traced functions that this one made directly, in order, asked for or not. As `parent`."""
        self._find_links()
        return self._children

    @property
    def returned(self) -> bool:
        """False where the call is still open, was left without return, or its return was not recorded."""
        return self.duration_ns is not None

    def child(self, function: str) -> Call | None:
        """The first call of `function` that this one made directly."""
        return next((call for call in self.children if call.function == function), None)

    def forget_link(self) -> None:
        """They are as they are; for who has linked them."""
        self._link = None

    def _find_links(self) -> None:
        if self._link is not None:
            self._link()


def pair(events: Iterable[Event], known: Iterable[Call] = ()) -> list[Call]:
    """Calls in order of their start, linked as parent and children. An exit whose enter is missing gives none.

    `known`: calls that are to stand for their events, instead of new ones; they are linked anew.
    """
    return _Pairing(known).run(events)


def pair_unlinked(events: Iterable[Event], link: Callable[[], None]) -> list[Call]:
    """As `pair`, of events among which the parents and children of calls are missing: `link` is called to find them."""
    calls = pair(events)
    for call in calls:
        call._parent, call._children, call._link = None, [], link
    return calls


class _Pairing:
    def __init__(self, known: Iterable[Call]) -> None:
        self._known = {call.id: call for call in known}
        self._calls: dict[str, Call] = {}
        self._stacks: dict[int, list[Call]] = {}

    def run(self, events: Iterable[Event]) -> list[Call]:
        for event in events:
            if event.event_type == "function_enter":
                self._enter(event, self._stacks.setdefault(event.thread_id, []))
            elif event.event_type == "function_exit":
                self._exit(event, self._stacks.setdefault(event.thread_id, []))
        return list(self._calls.values())

    def _enter(self, event: Event, stack: list[Call]) -> None:
        call = self._known.get(event.id) or _call(event)
        call._parent, call._children, call._link = None, [], None
        while stack and stack[-1].depth >= call.depth:
            stack.pop()
        parent = self._calls.get(event.parent_event_id or "")
        if parent is None and event.parent_event_id is None and stack:
            parent = stack[-1]
        if parent is not None:
            call._parent = parent
            parent._children.append(call)
        stack.append(call)
        self._calls[call.id] = call

    def _exit(self, event: Event, stack: list[Call]) -> None:
        depth = event.depth or 0
        while stack and stack[-1].depth > depth:
            stack.pop()
        call = self._calls.get(event.parent_event_id or "")
        if stack and stack[-1].depth == depth:
            last = stack.pop()
            if call is None and event.parent_event_id is None and last.function == event.function:
                call = last
        if call is not None:
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
        stack=event.stack,
        return_type=event.return_type,
        watched=event.watch_values or {},
    )
