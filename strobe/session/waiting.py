"""Waiting until a program has ended, or has done something: one question instead of many."""

from __future__ import annotations

import threading
import time
from typing import Any, Literal

from strobe.dataclass import dataclass
from strobe.model import Event, EventFilter
from strobe.session.session import Session

Until = Literal["exit", "event", "output", "time"]
Reason = Literal["exit", "event", "output", "time", "time-out", "cancelled"]

_LOOK_S = 0.03  # between two looks at first; each looks at all that was recorded since the one before
_LONGEST_LOOK_S = 0.2
_SLOWER = 1.1


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
    """`event`: what was waited for. `cursor`: event id to go on from."""

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
    search = None if wait.wanted is None else _Search(session, wait.wanted, after)
    while True:
        has_ended = session.wait(0) is not None  # before the look: then all is recorded
        event = None if search is None else search.look()
        seconds = time.monotonic() - began
        if event is not None:
            return Waited("output" if wait.until == "output" else "event", seconds, event, event.id)
        if has_ended:
            return Waited("exit", seconds, None, session.here())
        if settled.is_set():
            return Waited("cancelled", seconds, None, session.here())
        left = wait.seconds - seconds
        if left <= 0:
            return Waited("time" if wait.until == "time" else "time-out", seconds, None, session.here())
        session.wait(min(pause, left))
        pause = min(pause * _SLOWER, _LONGEST_LOOK_S)


class _Search:
    """Looks again and again for the first event that is wanted."""

    def __init__(self, session: Session, wanted: EventFilter, after: int) -> None:
        self._session, self._wanted, self._after = session, wanted, after
        self._opened: dict[tuple[int, int], Any] = {}  # calls that were begun before the last look

    def look(self) -> Event | None:
        found, self._after = self._session.first(self._wanted, self._after, self._opened)
        return found
