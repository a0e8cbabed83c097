"""Events, totals, loss and sessions as JSON: the fields of the MCP tools (docs/tools.md), but nothing is cut."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import orjson

from strobe.mcp.answers import event_json as wire
from strobe.mcp.answers import totals_json as wire_totals
from strobe.model import CALL_EVENTS, Enumerator, Event, GroupBy, Loss, SessionSummary, Text, Value

if TYPE_CHECKING:
    from strobe.timeline.totals import Totals

_LARGEST_EXACT = 1 << 53  # JavaScript, and jq with it, corrupts integers from here on


def dumps(value: object, indent: bool = False) -> str:
    """JSON, in one line or indented; bytes of the program that are not UTF-8 become escapes."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else 0, default=str).decode()
    except TypeError:  # a lone surrogate, which stands for a byte that is not UTF-8: orjson has no form for it
        return json.dumps(value, indent=2 if indent else None, default=str)


def camel(fields: dict[str, Any]) -> dict[str, Any]:
    """`event_count` -> `eventCount`; fields without a value are left out."""
    return {_camel_name(name): value for name, value in fields.items() if value is not None}


def _camel_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def event_json(event: Event) -> dict[str, object]:
    """All that is known of the event, in the form of debug_query with verbose."""
    if event.event_type in CALL_EVENTS:
        return _call_json(event)
    shown = wire.event(event, verbose=True, text_limit=sys.maxsize, values_limit=sys.maxsize)
    for name in ("values", "previous", "watchValues"):
        if name in shown:
            shown[name] = _exact(shown[name])
    return shown


def _call_json(event: Event) -> dict[str, object]:
    """The same of a call, of which there are many."""
    shown: dict[str, object] = {
        "id": event.id,
        "timestampNs": event.timestamp_ns,
        "eventType": event.event_type,
        "function": event.function,
    }
    if event.source_file is not None:
        shown["sourceFile"] = event.source_file
    if event.line is not None:
        shown["line"] = event.line
    if event.duration_ns is not None:
        shown["durationNs"] = event.duration_ns
    if event.return_value is not None:
        shown["returnValue"] = _value_json(event.return_value)
    if event.function_raw is not None:
        shown["functionRaw"] = event.function_raw
    if event.thread_id:
        shown["threadId"] = event.thread_id
    if event.thread_name:
        shown["threadName"] = event.thread_name
    shown["pid"] = event.pid
    if event.parent_event_id is not None:
        shown["parentEventId"] = event.parent_event_id
    if event.arguments is not None:
        shown["arguments"] = [{"name": item.name, "value": _value_json(item.value)} for item in event.arguments]
    if event.return_type is not None:
        shown["returnType"] = event.return_type
    if event.sampled:
        shown["sampled"] = True
    if event.watch_values is not None:
        shown["watchValues"] = _exact(wire.plain(event.watch_values))
    if event.stack is not None:
        shown["stack"] = list(event.stack)
    shown["depth"] = event.depth
    return shown


def _value_json(value: Any) -> Any:
    kind = type(value)
    if kind is int:
        return value if -_LARGEST_EXACT < value < _LARGEST_EXACT else str(value)
    if value is None or kind is bool or kind is float or kind is str:
        return value
    if kind is Text:
        return str(value)
    return value.shown if kind is Enumerator else _exact(wire.plain(value))


def totals_json(group: Totals, group_by: GroupBy) -> dict[str, object]:
    """One group of totals, as debug_query gives it."""
    return wire_totals.group(group, group_by)


def loss_json(loss: Loss) -> dict[str, object]:
    """What is missing from the events, and from the totals; 0 where nothing is."""
    unwritten = {"unwritten": loss.unwritten, "unwrittenReason": loss.unwritten_reason} if loss.unwritten else {}
    return {
        "evicted": loss.evicted,
        "evictedUntilNs": loss.evicted_until_ns,
        "sampledOut": loss.sampled_out,
        "lost": loss.lost,
        **({"inNoTotal": loss.in_no_total} if loss.in_no_total else {}),
        **unwritten,
    }


def session_json(summary: SessionSummary) -> dict[str, object]:
    """One session; times in ISO 8601, `endedAt` null while it runs."""
    return {
        "sessionId": summary.session_id,
        "binaryPath": summary.binary_path,
        "pid": summary.pid,
        "startedAt": summary.started_at,
        "endedAt": summary.ended_at,
        "status": summary.status,
        "exitCode": summary.exit_code,
        "signal": summary.signal,
        "folder": str(summary.folder),
        "children": list(summary.children),
    }


def _exact(value: Value) -> Value:
    if isinstance(value, dict):
        return {name: _exact(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_exact(element) for element in value]
    if isinstance(value, int) and abs(value) >= _LARGEST_EXACT:
        return str(value)
    return value
