"""Events and totals as debug_query shows them; what an event does not have is left out."""

from __future__ import annotations

import json
import sys
from typing import Any

from strobe.mcp.results import clipped, encode, fitting
from strobe.mcp.results import plain as plain_json
from strobe.mcp.tools.folding import folded_event
from strobe.mcp.tools.parameters import shortened
from strobe.model import Argument, Event, Loss, ProbeTotals, Totals
from strobe.timeline.decode import call_values as values
from strobe.values.decode import text

_SHORTEST = 40  # characters of a value that is cut
_FRAME_CHARACTERS = 100
_UNDECIDED = (
    "what it reads was not there or not readable, a division by zero, over 100,000 steps in one loop; or `once` is over"
)


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
        "text": None if item.text is None else clipped(item.text, text_limit),
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
    if len(encode(plain_json(shown))) <= most:
        return shown
    shown = folded_event(shown)
    if len(encode(plain_json(shown))) <= most:
        return shown
    arguments = shown.get("arguments") or ()
    watches = shown.get("watchValues") or {}
    share = max(_SHORTEST, most // (2 + len(arguments) + len(watches)))
    if "returnValue" in shown:
        shown["returnValue"] = _cut(shown["returnValue"], share)
    if arguments:
        shown["arguments"] = [{"name": one["name"], "value": _cut(one["value"], share)} for one in arguments]
    if watches:
        shown["watchValues"] = {name: _cut(value, share) for name, value in watches.items()}
    if "stack" in shown:
        shown["stack"] = frames(shown["stack"], max(share, most // 2))
    for name in ("function", "functionRaw", "text"):
        if name in shown:
            shown[name] = clipped(shown[name], max(share, most // 4))
    return shown


def crash_values(values: dict[str, Any], most: int) -> dict[str, Any]:
    """Of a crash, with `most` characters of its stack and as many of the variables, those of the innermost frames."""
    told = dict(values)
    if "stack" in told:
        told["stack"] = frames(told["stack"], most)
    if variables := told.pop("variables", None):
        told["variables"] = variables[: fitting(variables, most)]
    return told


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


def _cut(value: Any, share: int) -> Any:
    text = encode(plain_json(value))
    return value if len(text) <= share else clipped(text, share)


def probe_totals(item: ProbeTotals) -> dict[str, Any]:
    """How often one probe was reached; `held` where that is not each time."""
    told: dict[str, Any] = {"label": item.label, "hits": item.hits}
    if item.held != item.hits:
        told["held"] = item.held
    if item.recorded != item.held:
        told["recorded"] = item.recorded
    if item.undecided:
        told |= {"undecided": item.undecided, "undecidedWhy": _UNDECIDED}
    return told


def group(item: Totals, group_by: str) -> dict[str, Any]:
    """One group. `count` counts calls; what is missing of their events or durations is added where there is any. Of
    calls of which none has ended no time is known."""
    named: dict[str, Any]
    if group_by == "thread":
        named = {"threadId": item.thread_id, "threadName": item.key}
    else:
        named = {"function" if group_by == "function" else "sourceFile": item.key}
    missing = {
        "unwound": item.unwound,
        "exitsMissed": item.exits_missed,
        "evicted": item.evicted,
        "sampledOut": item.sampled_out,
        "lost": item.lost,
        "conditionFalse": item.unheld - item.undecided,
        "conditionUndecided": item.undecided,
    }
    times = {
        "totalNs": item.total_ns,
        **({} if item.self_ns is None else {"selfNs": item.self_ns}),
        "minNs": item.min_ns,
        "meanNs": item.mean_ns,
        "p50Ns": item.p50_ns,
        "p99Ns": item.p99_ns,
        "maxNs": item.max_ns,
    }
    return {
        **named,
        "count": item.count,
        **(times if item.completed else {}),
        **{name: count for name, count in missing.items() if count},
    }


def loss(counts: Loss) -> dict[str, Any]:
    """What is missing from the events; totals are exact all the same."""
    told: dict[str, Any] = {"eventsDropped": counts.evicted}
    if counts.evicted_until_ns is not None:
        told["eventsDroppedUntilNs"] = counts.evicted_until_ns
    if counts.evicted_for:
        told["eventsDroppedFor"] = f"{counts.evicted_for}; less serializationDepth, stack or watches keep more"
    if counts.sampled_out:
        told["eventsSampledOut"] = counts.sampled_out
    if counts.lost:
        told["eventsLost"] = counts.lost
    if counts.unwritten:
        told |= {"outputUnwritten": counts.unwritten, "outputUnwrittenReason": counts.unwritten_reason}
    return told


def _fitting(values: dict[str, Any] | None, limit: int) -> dict[str, Any] | None:
    """All as they are, if there is room for them; else the longest as the first characters of their JSON."""
    if values is None:
        return None
    texts = {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}
    if sum(len(name) + len(text) for name, text in texts.items()) <= limit:
        return values
    share = max(limit // len(texts), _SHORTEST)
    return {name: clipped(text, share) if len(text) > share else values[name] for name, text in texts.items()}


def plain(value: Any) -> Any:
    """As JSON has it, what pointers lead to included; integers of more than 64 bits as text."""
    return values.plain(text.plain(value))


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
        "arguments": None if arguments is None else [_argument(one) for one in arguments],
        "returnType": item.return_type,
        "sampled": item.sampled or None,
        "watchValues": plain(item.watch_values),
        "depth": item.depth,
    }
