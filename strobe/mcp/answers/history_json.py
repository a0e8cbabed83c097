"""What happened to an address, on one screen: in which calls it was found and as what, how often, from when to when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strobe.dataclass import replace
from strobe.mcp import results
from strobe.mcp.answers import event_json, totals_json
from strobe.model import Event, EventFilter, not_looked_at

if TYPE_CHECKING:
    from strobe.session import Session
    from strobe.session.questions import Touched

_BYTES = 3_500
_EVENT_BYTES = 450
_PLACES = 3


def of(session: Session, wanted: EventFilter) -> dict[str, Any]:
    """`touched` by first time, and the first and last events, without the arguments that say nothing of it."""
    touched, found = session.history(wanted)
    answer: dict[str, Any] = {} if found.unchecked_after is None else {"note": not_looked_at(found.unchecked_after)}
    rows = [_touched(one) for one in touched]
    fitting = results.fitting(rows, _BYTES // 2)
    answer["touched"] = rows[:fitting]
    if fitting < len(rows):
        rest = sum(one.count for one in touched[fitting:])
        answer["touchedMore"] = f"{len(rows) - fitting} others, of {rest} events"
    events = [
        event_json.bounded_event(with_stack(session, event), False, _EVENT_BYTES) | {"places": places[:_PLACES]}
        for event, places in zip(found.events, found.places, strict=True)
    ]
    answer["events"] = events
    answer |= {"totalCount": found.held, "checked": found.checked}
    if found.undecided:
        answer |= {"undecided": found.undecided, "undecidedWhy": results.clipped(found.undecided_why, 200)}
    if not found.held:
        answer["absence"] = session.why_none(wanted, found)
    elif found.held > len(events):
        answer["eventsShown"] = "the first and the last ones; limit, last, select or verbose list the events"
    return answer | totals_json.loss(session.timeline.loss())


def with_stack(session: Session, event: Event) -> Event:
    """Of a return with the stack that was recorded at the call's entry."""
    entry = session.entry_of(event) if event.event_type == "function_exit" and event.stack is None else None
    return event if entry is None else replace(event, stack=entry.stack)


def _touched(one: Touched) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "eventType": one.event_type,
        "function": results.clipped(one.name, 160),
        "places": list(one.places),
    }
    shown |= {"count": one.count, "first": one.first.id, "firstNs": one.first.timestamp_ns}
    if one.count > 1:
        shown |= {"last": one.last.id, "lastNs": one.last.timestamp_ns}
    return shown
