"""Events as debug_query shows them; what an event does not have is left out. A page is within the bytes of an answer:
first what says nothing is folded, then values are cut, then events are left for the next page."""

from __future__ import annotations

import json
import sys
from typing import Any

from strobe.mcp import results
from strobe.mcp.answers import folding
from strobe.mcp.results import clipped, clipped_value, shortened
from strobe.model import Argument, Event, EventPage
from strobe.report.lengths import by_length
from strobe.timeline.decode import captured
from strobe.values.decode import text
from strobe.values.model import Problem

EVENT_BYTES = 600  # of one of many
_SELECTED_BYTES = 4096  # of one value
_LONG_TEXT = 12  # characters, from which on an error stands once
_ERROR = "(error)"
_SHORTEST = 40  # characters of a value that is cut
_FRAME_CHARACTERS = 100

Json = dict[str, Any]


def page(found: EventPage, verbose: bool, budget: int) -> tuple[list[Json], Json]:
    """The events, and what the answer says of all of them: `common` where they did not fit, `watchErrors`."""
    if len(found.events) == 1:
        return _with_locations([bounded_event(found.events[0], verbose, budget)], found), {}
    if not verbose:
        return _with_locations([bounded_event(item, False, EVENT_BYTES) for item in found.events], found), {}
    shown = [bounded_event(item, True, budget // 2) for item in found.events]
    notes = _watch_errors(found.events, shown)
    if _size(shown) <= budget:
        return _with_locations(shown, found), notes
    common, shown = folding.without_common([bounded_event(item, True, _share(found, budget)) for item in found.events])
    notes = _watch_errors(found.events, shown)
    return _with_locations(shown, found), ({"common": common} if common else {}) | notes


def selected(page: EventPage, expressions: int, budget: int) -> tuple[list[Json], Json]:
    """Events with the selected values alone; `errors`: why some have none."""
    most = min(_SELECTED_BYTES, budget // max(1, expressions))
    shown = [with_values(item, values, most) for item, values in zip(page.events, page.values or (), strict=True)]
    errors = folding.once(page.errors or ())
    return _with_locations(shown, page), {"errors": errors} if errors else {}


def with_values(item: Event, values: dict[str, Any], most: int) -> Json:
    """An event with the selected values alone, each of `most` bytes."""
    return {"id": item.id, "values": {name: clipped_value(value, most) for name, value in values.items()}}


def event(item: Event, verbose: bool, text_limit: int, values_limit: int = sys.maxsize) -> dict[str, Any]:
    """`text_limit`: characters of output shown; `values_limit`: of the values of a snapshot."""
    shown: dict[str, Any] = {
        "id": item.id,
        "timestampNs": item.timestamp_ns,
        "eventType": item.event_type,
        "function": item.function,
        "sourceFile": item.source_file,
        "line": item.line,
        "durationNs": item.duration_ns,
        "returnValue": plain(item.return_value),
        "text": None if item.text is None else clipped(results.readable(item.text), text_limit),
        "values": _fitting(item.values, values_limit),
        "errors": item.errors,
        "previous": _fitting(item.previous, values_limit),
        "stack": None if item.stack is None else list(item.stack),
    }
    if item.event_type == "crash" and item.values is not None:
        shown["values"] = _fitting(crash_values(item.values, values_limit // 3), values_limit)
    if item.event_type == "probe":
        read = {name: plain(value) for name, value in (item.watch_values or {}).items()}
        shown |= {"label": item.label, "values": _fitting(read, values_limit)}
    if verbose:
        shown |= _details(item)
    if item.event_type == "probe":
        shown["watchValues"] = None  # they are its values
    return {name: value for name, value in shown.items() if value is not None}


def bounded_event(item: Event, verbose: bool, most: int) -> dict[str, Any]:
    """An event of some `most` bytes; where it has more its values are folded, then those that are longer are cut,
    and say so."""
    shown = event(item, verbose, most // 2, most // 2)
    if _length(shown) <= most:
        return shown
    shown = folding.folded_event(shown)
    if _length(shown) <= most:
        return shown
    arguments = shown.get("arguments") or ()
    watches = shown.get("watchValues") or {}
    share = max(_SHORTEST, most // (2 + len(arguments) + len(watches)))
    if "returnValue" in shown:
        shown["returnValue"] = clipped_value(shown["returnValue"], share)
    if arguments:
        shown["arguments"] = [{"name": one["name"], "value": clipped_value(one["value"], share)} for one in arguments]
    if watches:
        shown["watchValues"] = {name: clipped_value(value, share) for name, value in watches.items()}
    if "stack" in shown:
        shown["stack"] = frames(shown["stack"], max(share, most // 2))
    for name in ("function", "functionRaw", "text"):
        if name in shown:
            shown[name] = clipped(shown[name], max(share, most // 4))
    return shown


def crash_values(values: dict[str, Any], most: int) -> dict[str, Any]:
    """Of a crash, with `most` characters of its stack and as many of the variables, those of the innermost frames."""
    shown = dict(values)
    if "stack" in shown:
        shown["stack"] = frames(shown["stack"], most)
    if variables := shown.pop("variables", None):
        shown["variables"] = variables[: results.fitting(variables, most)]
    return shown


def frames(stack: list[str], most: int) -> list[str]:
    """Of a stack the innermost frames, each shortened, as far as `most` characters go, and how many more there are."""
    shown: list[str] = []
    for whole in stack:
        frame = clipped(shortened(whole, _FRAME_CHARACTERS), 2 * _FRAME_CHARACTERS)
        most -= len(frame) + 3
        if most < 0 and shown:
            return [*shown, f"… {len(stack) - len(shown)} more"]
        shown.append(frame)
    return shown


def plain(value: Any) -> Any:
    """As JSON has it, what pointers lead to included; integers of more than 64 bits as text."""
    return captured.plain(text.plain(value))


def _share(page: EventPage, budget: int) -> int:
    """Bytes of an event, where all of them are to find room: those that need no more leave theirs to others."""
    return max(EVENT_BYTES, min(budget // 2, budget // max(1, len(page.events))))


def _size(shown: list[Json]) -> int:
    return sum(_length(one) + 1 for one in shown)


def _length(shown: Json) -> int:
    return len(results.encode(results.plain(shown)))


def _with_locations(shown: list[Json], page: EventPage) -> list[Json]:
    """With where in each of them the filter's address was found."""
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
    common: dict[str, str] = {}
    for (name, error), count in counts.items():
        if count > 1 and name not in common:
            common[name] = error
    for event, one in zip(events_of, shown, strict=True):
        for field in ("watchValues", "values"):
            own = one.get(field)
            for name, error in common.items():
                if own and str((event.watch_values or {}).get(name)) == error:
                    one[field] = {**one[field], name: _ERROR}
    return {"watchErrors": common} if common else {}


def _fitting(values: dict[str, Any] | None, limit: int) -> dict[str, Any] | None:
    """All as they are, if there is room for them; else of the longest what `clipped_value` has."""
    if values is None:
        return None
    size = sum(len(name) + len(json.dumps(value, ensure_ascii=False)) for name, value in values.items())
    if size <= limit:
        return values
    share = max(limit // len(values), _SHORTEST)
    return {name: clipped_value(value, share) for name, value in values.items()}


def _argument(item: Argument) -> dict[str, Any]:
    return {"name": item.name, "value": plain(item.value)}


def _details(item: Event) -> dict[str, Any]:
    arguments = item.arguments
    return {
        "functionRaw": item.function_raw,
        "threadId": item.thread_id or None,  # output is of the program, not of a thread
        "threadName": item.thread_name or None,
        "pid": item.pid,
        "parentEventId": item.parent_event_id,
        "arguments": None if arguments is None else [_argument(one) for one in by_length(arguments)],
        "returnType": item.return_type,
        "sampled": item.sampled or None,
        "watchValues": plain(item.watch_values),
        "depth": item.depth,
    }
