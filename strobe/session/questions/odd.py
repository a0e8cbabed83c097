"""Calls that are unlike the others of their function: a negative argument where none is, a null result, one that took a
thousand times as long. Candidates for a first look, each of them true and counted; what they mean is not guessed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from strobe.dataclass import dataclass
from strobe.errors import StrobeError
from strobe.model import Enumerator, Event, EventFilter, EventPage, EventType, Text, TextMatch, Value
from strobe.session.session import Session
from strobe.values.model import PointerTo

if TYPE_CHECKING:
    from strobe.timeline.totals import Totals

_LEAST_CALLS = 50  # of a function, from which on one of them can be unlike the others
_RARE = 200  # one of so many at most
_EVENT_S = 1e-6  # that a condition takes for each event of a function
_SLOW_TIMES, _SLOW_NS = 50, 100_000  # of the time that half of the calls take, and at least
_ENTER: EventType = "function_enter"
_EXIT: EventType = "function_exit"


@dataclass(frozen=True, slots=True)
class Odd:
    """Of `of` calls of a function `count` are so (`what`: an expression, or how long it took); `event` is the first.
    `is_all`: these are all of its calls; else others were not recorded, or have not returned."""

    function: str
    what: str
    count: int
    of: int
    event: Event
    is_all: bool


def odd_calls(session: Session, totals: Sequence[Totals], most: int, seconds: float) -> list[Odd]:
    """The rarest first. Functions are looked at in the order of `totals` for so many seconds. Raises as
    Session.query."""
    end = time.monotonic() + seconds
    found: list[Odd] = []
    for total in totals:
        if time.monotonic() > end:
            break
        if total.count >= _LEAST_CALLS:
            found += _of_function(session, total, end)
    found.sort(key=lambda one: one.count / one.of)
    return found[:most]


def _of_function(session: Session, total: Totals, end: float) -> Iterator[Odd]:
    named = TextMatch(equals=total.key)
    if (slow := _slowest(session, total, named)) is not None:
        yield slow
    entered = session.query(EventFilter(event_type=_ENTER, function=named, limit=1)).events
    returned = session.query(EventFilter(event_type=_EXIT, function=named, limit=1)).events
    values = [(one.name, one.value, _ENTER) for event in entered for one in event.arguments or () if one.name]
    values += [("$return", event.return_value, _EXIT) for event in returned]
    for name, value, kind in values:
        for what in _kinds_of(name, value):
            if time.monotonic() + total.count * _EVENT_S > end:
                return
            page = _such(session, EventFilter(event_type=kind, function=named, where=what, limit=1))
            known = 0 if page is None else (page.checked or 0) - page.undecided
            if page is not None and known >= _LEAST_CALLS and 0 < page.total_count <= max(1, known // _RARE):
                yield Odd(total.key, what, page.total_count, known, page.events[0], known == total.count)
                break


def _kinds_of(name: str, value: Value) -> tuple[str, ...]:
    """What few values of a type are where the others are not. An argument that is 0 once counts something."""
    is_result = name == "$return"
    if isinstance(value, bool):
        return f"{name} == 0", f"{name} == 1"
    if isinstance(value, (PointerTo, Text)) or (isinstance(value, str) and value.startswith("0x")):
        return f"{name} == null", f"{name} != null"
    if isinstance(value, Enumerator) or not isinstance(value, (int, float)):
        return ()
    return (f"{name} < 0", f"{name} == 0", f"{name} > 0") if is_result else (f"{name} < 0", f"{name} >= 0")


def _such(session: Session, wanted: EventFilter) -> EventPage | None:
    """None where it cannot be asked, or there was no time to look at all."""
    try:
        page = session.query(wanted)
    except StrobeError:  # a name that is none in the language
        return None
    return None if page.unchecked_after is not None or page.unchecked_before is not None else page


def _slowest(session: Session, total: Totals, named: TextMatch) -> Odd | None:
    if total.completed < _LEAST_CALLS or total.max_ns is None or total.p50_ns is None:
        return None
    if total.max_ns < max(_SLOW_NS, _SLOW_TIMES * total.p50_ns):
        return None
    wanted = EventFilter(event_type=_EXIT, function=named, min_duration_ns=total.max_ns, limit=1)
    events = session.query(wanted).events
    if not events:
        return None
    what = f"$duration >= {total.max_ns} (half of the calls take about {total.p50_ns} ns or less)"
    return Odd(total.key, what, 1, total.completed, events[0], total.completed == total.count)
