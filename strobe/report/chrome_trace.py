"""Events as Chrome's trace event format, which Perfetto, speedscope and chrome://tracing show as a flame chart.

A call is a pair of "B" and "E", so that calls that begin in the same nanosecond keep their order. Times are
microseconds since session start. A call whose return was not recorded ends where its thread goes on above it, and is
left open where nothing comes after it; one whose entry was evicted is a complete event, "X".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import orjson

from strobe.model import Event, EventFilter, SessionSummary
from strobe.report import wording
from strobe.timeline.moments import event_number
from strobe.timeline.query import Timeline

Entry = dict[str, Any]

_NOT_RETURNED = {"ended": "its return was not recorded"}


class Readable(Protocol):
    """What is needed of a session."""

    id: str
    timeline: Timeline

    def tail(self, after: int, limit: int = ...) -> list[Event]:
        """Events after a number, in order."""

    def last(self, wanted: EventFilter, count: int) -> list[Event]:
        """The newest ones, in order."""

    def summary(self) -> SessionSummary:
        """Which program it is of."""


def document(session: Readable, newest: int | None = None) -> Iterator[str]:
    """The JSON of a session as it is now, in parts; with `newest` of so many events alone."""
    trace = ChromeTrace()
    yield '{"displayTimeUnit":"ns","traceEvents":['
    before, count = "", 0
    for events in _pages(session) if newest is None else [session.last(EventFilter(), newest)]:
        count += len(events)
        for entry in trace.entries(events):
            yield before + _dumps(entry)
            before = ",\n"
    loss = session.timeline.loss()
    missing = {"evicted": loss.evicted, "sampledOut": loss.sampled_out, "lost": loss.lost}
    if loss.in_no_total:
        missing["inNoTotal"] = loss.in_no_total
    about = {"session": session.id, "program": session.summary().binary_path, "events": count, "missing": missing}
    yield f'],"otherData":{_dumps(about)}}}\n'


def _pages(session: Readable) -> Iterator[list[Event]]:
    """Those that there are at the time of the call."""
    until, after = session.timeline.cursor(), 0
    while events := [event for event in session.tail(after) if event_number(session.id, event.id) <= until]:
        after = event_number(session.id, events[-1].id)
        yield events


def _dumps(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a lone surrogate, which stands for a byte that is not UTF-8
        return json.dumps(value, separators=(",", ":"))


class ChromeTrace:
    """Of events in the order of their numbers, those of one session or of a part of it."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], list[Event]] = {}

    def entries(self, events: Iterable[Event]) -> Iterator[Entry]:
        """What the next events become, in order; may be called again with those that follow."""
        for event in events:
            if (event.pid, event.thread_id) not in self._open:
                self._open[event.pid, event.thread_id] = []
                yield from _names(event)
            if event.event_type == "function_enter":
                yield from self._entered(event)
            elif event.event_type == "function_exit":
                yield from self._returned(event)
            else:
                yield _instant(event)

    def _entered(self, event: Event) -> Iterator[Entry]:
        calls = self._open[event.pid, event.thread_id]
        while calls and (calls[-1].depth or 0) >= (event.depth or 0):
            yield _entry(calls.pop(), "E", event.timestamp_ns, _NOT_RETURNED)
        calls.append(event)
        yield _entry(event, "B", event.timestamp_ns, _given(event))

    def _returned(self, event: Event) -> Iterator[Entry]:
        calls = self._open[event.pid, event.thread_id]
        duration = event.duration_ns or 0
        result = {} if event.return_value is None else {"return": wording.value(event.return_value)}
        if all(call.id != event.parent_event_id for call in calls):
            complete = _entry(event, "X", event.timestamp_ns - duration, result | _watched(event))
            yield complete | {"dur": duration / 1000}
            return
        while (call := calls.pop()).id != event.parent_event_id:
            yield _entry(call, "E", event.timestamp_ns, _NOT_RETURNED)
        yield _entry(call, "E", event.timestamp_ns, result | _watched(event))


def _entry(event: Event, phase: str, at_ns: int, args: dict[str, str]) -> Entry:
    entry: Entry = {"ph": phase, "name": event.function, "ts": at_ns / 1000, "pid": event.pid, "tid": event.thread_id}
    if phase != "E" and event.source_file is not None:
        args = {**args, "at": f"{event.source_file}:{event.line}"}
    return entry | {"args": args} if args else entry


def _instant(event: Event) -> Entry:
    kind = event.event_type
    name = event.label if kind == "probe" else kind
    args = _watched(event)
    if event.text is not None:
        args["text"] = event.text.rstrip("\n")
    if kind != "probe":
        args |= {name: wording.value(value) for name, value in (event.values or {}).items()}
    scope = "t" if event.thread_id else "p"
    at = {"ts": event.timestamp_ns / 1000, "pid": event.pid, "tid": event.thread_id}
    return {"ph": "i", "name": name, "s": scope, **at, "args": args}


def _names(event: Event) -> Iterator[Entry]:
    if event.thread_id and event.thread_name:
        at = {"pid": event.pid, "tid": event.thread_id}
        yield {"ph": "M", "name": "thread_name", **at, "args": {"name": event.thread_name}}


def _given(event: Event) -> dict[str, str]:
    given = {(item.name or "?"): wording.value(item.value) for item in event.arguments or ()}
    return given | _watched(event)


def _watched(event: Event) -> dict[str, str]:
    watched = {name: wording.value(value) for name, value in (event.watch_values or {}).items()}
    return watched | ({"stack": "\n".join(event.stack)} if event.stack else {})
