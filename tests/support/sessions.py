"""What a session's program did, in the form tests compare."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from strobe.model import Event, EventFilter, EventType, TextMatch
from strobe.session import Session
from strobe.timeline.totals import Totals

EXIT_SECONDS = 60.0

Build = Callable[..., Path]
Launch = Callable[..., Session]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program did, as far as its user sees. `status`: exit code, or minus the signal's number."""

    stdout: str
    stderr: str
    status: int


def untraced(program: Path, *arguments: str, stdin: str = "") -> Outcome:
    """What the program does alone."""
    result = subprocess.run([program, *arguments], input=stdin, capture_output=True, text=True, timeout=EXIT_SECONDS)
    return Outcome(result.stdout, result.stderr, result.returncode)


def outcome(session: Session) -> Outcome:
    """What the program of a session did, waiting for its end."""
    ended = status(session)
    return Outcome(text(session, "stdout"), text(session, "stderr"), ended)


def status(session: Session) -> int:
    """Exit code, or minus the signal's number, waiting for the end; fails where it is not known."""
    ended = session.wait(EXIT_SECONDS)
    assert ended is not None, f"still running after {EXIT_SECONDS} s"
    assert (ended.code is None) != (ended.signal is None), f"unclear end: {ended}"
    return ended.code if ended.code is not None else -(ended.signal or 0)


def text(session: Session, stream: EventType) -> str:
    """All that the program wrote to one stream."""
    return "".join(event.text or "" for event in all_events(session, EventFilter(event_type=stream)))


def all_events(session: Session, wanted: EventFilter) -> Iterator[Event]:
    """Every matching event, page by page, by cursor."""
    wanted = replace(wanted, limit=10_000)
    while True:
        page = session.query(wanted)
        yield from page.events
        if not page.has_more:
            return
        wanted = replace(wanted, after_event_id=page.events[-1].id)


def totals(session: Session) -> dict[str, Totals]:
    """Totals per function."""
    return {group.key: group for group in session.timeline.totals(EventFilter(), "function")}


def counts(session: Session) -> dict[str, tuple[int, int, int]]:
    """(calls, completed, unwound) per function."""
    return {name: (group.count, group.completed, group.unwound) for name, group in totals(session).items()}


def count(session: Session, event_type: EventType, function: str) -> int:
    """How many events of one kind the timeline holds for a function."""
    wanted = EventFilter(event_type=event_type, function=TextMatch(equals=function), limit=1)
    return session.query(wanted).total_count
