"""A program's crash as an event of its session's timeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from strobe._core import Segment
from strobe.model import Event, EventFilter, EventPage
from strobe.timeline import crashes
from strobe.timeline.host_events import HostEvent
from strobe.timeline.moments import event_id, host_number

if TYPE_CHECKING:
    from strobe.session.crashes.crash import Crash

_SINCE = 100  # events that its handlers may have


def crash_event(session_key: int, segment: Segment, pid: int, found: Crash, values: dict[str, Any]) -> HostEvent:
    """Of the moment at which it happened. `session_key`: as SessionRecord.key."""
    number = host_number(segment.moment(found.ticks))
    names = {tid: name for _, _, tid, name in segment.threads()}
    content = crashes.dump(found.text, values).encode()
    thread = (pid, found.thread_id, names.get(found.thread_id, ""))
    return HostEvent(session_key, number, crashes.EVENT_TYPE, content, *thread)


def went_on(
    session_id: str, query: Callable[[EventFilter], EventPage], segment: Segment, thread_id: int, ticks: int, depth: int
) -> bool:
    """Whether the thread had calls since that moment outside those that were open at this depth."""
    after = event_id(session_id, host_number(segment.moment(ticks)))
    since: list[Event] = query(EventFilter(thread_id=thread_id, after_event_id=after, limit=_SINCE)).events
    return any((event.depth or 0) < depth for event in since if event.depth is not None)
