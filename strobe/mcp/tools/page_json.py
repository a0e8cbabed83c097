"""A page of events within the bytes of an answer: first what says nothing is folded, then values are cut, then events
are left for the next page."""

from __future__ import annotations

from typing import Any

from strobe.mcp import results
from strobe.mcp.tools import event_json, folding
from strobe.model import Event, EventPage
from strobe.values.model import Problem

EVENT_BYTES = 600  # of one of many
_SELECTED_BYTES = 4096  # of one value
_LONG_TEXT = 12  # characters, from which on an error stands once
_ERROR = "(error)"

Json = dict[str, Any]


def events(page: EventPage, verbose: bool, budget: int) -> tuple[list[Json], Json]:
    """The events, and what the answer says of all of them: `common` where they did not fit, `watchErrors`."""
    if len(page.events) == 1:
        return _with_places([event_json.bounded_event(page.events[0], verbose, budget)], page), {}
    if not verbose:
        return _with_places([event_json.bounded_event(item, False, EVENT_BYTES) for item in page.events], page), {}
    shown = [event_json.bounded_event(item, True, budget // 2) for item in page.events]
    notes = _watch_errors(page.events, shown)
    if _size(shown) <= budget:
        return _with_places(shown, page), notes
    common, shown = folding.without_common(
        [event_json.bounded_event(item, True, _share(page, budget)) for item in page.events]
    )
    notes = _watch_errors(page.events, shown)
    return _with_places(shown, page), ({"common": common} if common else {}) | notes


def selected(page: EventPage, expressions: int, budget: int) -> tuple[list[Json], Json]:
    """Events with the selected values alone; `errors`: why some have none."""
    most = min(_SELECTED_BYTES, budget // max(1, expressions))
    shown: list[Json] = [
        {"id": item.id, "values": {name: clipped(value, most) for name, value in values.items()}}
        for item, values in zip(page.events, page.values or (), strict=True)
    ]
    errors = folding.once(page.errors or (), lambda place: shown[place])
    return _with_places(shown, page), {"errors": errors} if errors else {}


def _share(page: EventPage, budget: int) -> int:
    """Bytes of an event, where all of them are to find room: those that need no more leave theirs to others."""
    return max(EVENT_BYTES, min(budget // 2, budget // max(1, len(page.events))))


def _size(shown: list[Json]) -> int:
    return sum(len(results.encode(results.plain(one))) + 1 for one in shown)


def _with_places(shown: list[Json], page: EventPage) -> list[Json]:
    for one, places in zip(shown, page.places or (), strict=False):
        one["places"] = places
    return shown


def _watch_errors(events_of: list[Event], shown: list[Json]) -> Json:
    """The text of an error that several events have stands once."""
    counts: dict[tuple[str, str], int] = {}
    for event in events_of:
        for name, value in (event.watch_values or {}).items():
            if isinstance(value, Problem) and len(value) >= _LONG_TEXT:
                counts[name, str(value)] = counts.get((name, str(value)), 0) + 1
    told: dict[str, str] = {}
    for (name, text), count in counts.items():
        if count > 1 and name not in told:
            told[name] = text
    for event, one in zip(events_of, shown, strict=True):
        for place in ("watchValues", "values"):
            own = one.get(place)
            for name, text in told.items():
                if own and str((event.watch_values or {}).get(name)) == text:
                    one[place] = {**one[place], name: _ERROR}
    return {"watchErrors": told} if told else {}


def clipped(value: Any, most: int = EVENT_BYTES) -> Any:
    """The value, or where it is longer its first characters."""
    text = results.encode(results.plain(value))
    return value if len(text) <= most else results.clipped(text, most)
