"""Waiting until a program has ended, or has done something: one question instead of many."""

from __future__ import annotations

import threading
import time
from typing import Literal

from strobe.dataclass import dataclass
from strobe.model import Event, EventFilter
from strobe.session.session import Session
from strobe.timeline.moments import event_id
from strobe.timeline.scan import Progress

Until = Literal["exit", "event", "output", "time"]
Reason = Literal["exit", "event", "output", "time", "time-out", "cancelled"]

_LOOK_S = 0.03  # between two looks at first; each looks at all that was recorded since the one before
_LONGEST_LOOK_S = 0.2
_SLOWER = 1.1
_LOOK_SECONDS = 1.0  # that one look may take before it is seen whether the wait is over; the next one goes on there
_LATE_S = 0.2  # that the last look may take beyond the wait's time


@dataclass(frozen=True, slots=True)
class Wait:
    """What is waited for, for `seconds` at most; the program's end ends it in any case.

    `wanted`: which event is waited for; nothing but the end of time and program where it is None.
    """

    until: Until
    seconds: float
    wanted: EventFilter | None = None


@dataclass(frozen=True, slots=True)
class Waited:
    """`event`: what was waited for. `cursor`: event id to go on from; up to there was looked, where it is an event that
    was waited for."""

    reason: Reason
    seconds: float
    event: Event | None
    cursor: str


def wait_for(session: Session, wait: Wait, after: int, settled: threading.Event) -> Waited:
    """Waits; events with a number above `after` count. `settled` ends it: nobody wants to know any more.

    Raises what queries raise; `owned_elsewhere` where another process observes the program.
    """
    began = time.monotonic()
    pause = _LOOK_S
    latest = began + wait.seconds + _LATE_S
    search = None if wait.wanted is None else _Search(session, wait.wanted, after)
    while True:
        has_ended = session.wait(0) is not None  # before the look: then all is recorded
        event = None if search is None else search.look(min(time.monotonic() + _LOOK_SECONDS, latest))
        is_whole = search is None or search.is_whole
        seconds = time.monotonic() - began
        if event is not None:
            return Waited("output" if wait.until == "output" else "event", seconds, event, event.id)
        if has_ended and is_whole:
            return Waited("exit", seconds, None, session.here())
        if settled.is_set():
            return Waited("cancelled", seconds, None, _cursor(session, search))
        left = wait.seconds - seconds
        if left <= 0:
            return Waited("time" if wait.until == "time" else "time-out", seconds, None, _cursor(session, search))
        if is_whole:
            session.wait(min(pause, left))
            pause = min(pause * _SLOWER, _LONGEST_LOOK_S)


def _cursor(session: Session, search: _Search | None) -> str:
    return session.here() if search is None else event_id(session.id, max(0, search.after))


class _Search:
    """Looks again and again for the first event that is wanted."""

    def __init__(self, session: Session, wanted: EventFilter, after: int) -> None:
        self._session, self._wanted, self.after = session, wanted, after
        self._progress = Progress()

    @property
    def is_whole(self) -> bool:
        """Whether the last look has come to its end."""
        return self._progress.is_whole

    def look(self, deadline: float) -> Event | None:
        found, self.after = self._session.first(self._wanted, self.after, self._progress, deadline)
        return found
