"""What says nothing is left out of answers: repeated elements, empty structures, what was shown already, events that
come again and again. All on JSON as it is answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strobe.mcp.results import encode, plain

_RUN = 4  # equal elements of an array, from which on they are shown once
_LONGEST_BLOCK = 4  # events that come again together
_LEAST_MEMBERS = 3  # of a structure that is shown as empty
_EMPTY = (0, 0.0, "0x0", "", "'\\0'", None)
_OWN = ("id", "timestampNs", "durationNs", "parentEventId")  # of each event its own
_COMMON = ("functionRaw", "sourceFile", "line", "pid", "returnType")  # long, and seldom asked for

Json = dict[str, Any]


def folded(value: Any, shown: set[str] | None = None) -> Any:
    """A value without what says nothing: `0 x 100` for equal elements, "{all 0}" for an empty structure within another,
    no pointers to tables of virtual functions. `shown`: addresses whose content was shown; grows."""
    seen = set[str]() if shown is None else shown
    if isinstance(value, list):
        return _runs([folded(item, seen) for item in value])
    if not isinstance(value, dict):
        return value
    if set(value) == {"pointer", "to"}:
        address = str(value["pointer"]).partition(" ")[0]
        if address in seen:
            return {"pointer": value["pointer"], "to": "(above)"}
        seen.add(address)
        return {"pointer": value["pointer"], "to": folded(value["to"], seen)}
    return {name: _member(item, seen) for name, item in value.items() if not name.startswith("_vptr")}


def _member(value: Any, seen: set[str]) -> Any:
    if isinstance(value, dict) and len(value) >= _LEAST_MEMBERS and _is_empty(value):
        return "{all 0}"
    return folded(value, seen)


def _is_empty(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_empty, value.values()))
    if isinstance(value, list):
        return all(map(_is_empty, value))
    return value is False or (not isinstance(value, bool) and value in _EMPTY)


def _runs(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    at = 0
    while at < len(items):
        end = at + 1
        while end < len(items) and type(items[end]) is type(items[at]) and items[end] == items[at]:
            end += 1
        if end - at < _RUN:
            found += items[at:end]
        elif isinstance(items[at], dict | list):
            found += [items[at], f"the same x {end - at - 1} more"]
        else:
            found.append(f"{_text(items[at])} x {end - at}")
        at = end
    return found


def _text(item: Any) -> str:
    return item if isinstance(item, str) else encode(plain(item))


def folded_event(shown: Json) -> Json:
    """An event as debug_query shows it, with its values folded."""
    seen: set[str] = set()
    found = dict(shown)
    if "arguments" in found:
        arguments = found["arguments"]
        if isinstance(arguments, dict):
            found["arguments"] = {name: folded(value, seen) for name, value in arguments.items()}
        else:
            found["arguments"] = [{"name": one["name"], "value": folded(one["value"], seen)} for one in arguments]
    for name in ("returnValue", "watchValues", "values"):
        if name in found:
            found[name] = folded(found[name], seen)
    return found


def without_common(events: Sequence[Json]) -> tuple[Json, list[Json]]:
    """What all events have alike, and the events without it."""
    if len(events) < _RUN:
        return {}, list(events)
    first = events[0]
    common = {
        name: first[name] for name in _COMMON if name in first and all(one.get(name) == first[name] for one in events)
    }
    return common, [{name: value for name, value in one.items() if name not in common} for one in events]


def repeats(events: Sequence[Json]) -> list[tuple[Json, int]]:
    """Events that come again in the same order, with all but their own ids and times alike, shown once: each entry of
    the answer with how many events it stands for. The last one of a block says how often that comes again."""
    shapes = [_shape(one) for one in events]
    found: list[tuple[Json, int]] = []
    at = 0
    while at < len(events):
        length, times = _block(shapes, at)
        if times < _RUN:
            found.append((dict(events[at]), 1))
            at += 1
            continue
        end = at + length * times
        found += [(dict(one), 1) for one in events[at : at + length - 1]]
        last = dict(events[at + length - 1])
        again = "" if length == 1 else f"these {length} events "
        last["again"] = f"{again}x {times} in all, of the same shape, up to {events[end - 1]['id']}"
        durations = [one["durationNs"] for one in events[at:end] if "durationNs" in one]
        if durations:
            last["againNs"] = {"min": min(durations), "max": max(durations)}
        found.append((last, length * (times - 1) + 1))
        at = end
    return found


def _shape(event: Json) -> str:
    return encode(plain({name: value for name, value in event.items() if name not in _OWN}))


def _block(shapes: Sequence[str], at: int) -> tuple[int, int]:
    """How long the block is that comes again from there on, and how often it does: what stands for most events."""
    best = (1, 1)
    for length in range(1, _LONGEST_BLOCK + 1):
        times, block = 1, shapes[at : at + length]
        while shapes[at + times * length : at + (times + 1) * length] == block and len(block) == length:
            times += 1
        if times >= _RUN and length * times > best[0] * best[1]:
            best = (length, times)
    return best


def once(errors: Sequence[dict[str, str] | None]) -> dict[str, str]:
    """Why there are no values, each text once: by name, "text (of 12 events)". `errors`: of each event, by name."""
    texts: dict[str, dict[str, int]] = {}
    for own in errors:
        for name, text in (own or {}).items():
            texts.setdefault(name, {}).setdefault(text, 0)
            texts[name][text] += 1
    return {
        name: "; ".join(f"{text} (of {count} of these events)" for text, count in found.items())
        for name, found in texts.items()
    }
