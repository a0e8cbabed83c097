"""Events, totals, loss and sessions as JSON: the fields of the MCP tools (docs/tools.md), but nothing is cut."""

from __future__ import annotations

import json
import sys
from typing import Any

import orjson

from strobe.mcp.tools import event_json as wire
from strobe.model import Event, GroupBy, Loss, SessionSummary, Totals, Value

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
    shown = wire.event(event, verbose=True, text_limit=sys.maxsize, values_limit=sys.maxsize)
    for argument in shown.get("arguments", ()):
        argument["value"] = _exact(argument["value"])
    if "returnValue" in shown:
        shown["returnValue"] = _exact(shown["returnValue"])
    for name in ("values", "previous", "watchValues"):
        if name in shown:
            shown[name] = _exact(shown[name])
    return shown


def totals_json(group: Totals, group_by: GroupBy) -> dict[str, object]:
    """One group of totals, as debug_query gives it."""
    return wire.group(group, group_by)


def loss_json(loss: Loss) -> dict[str, object]:
    """What is missing from the events; 0 where nothing is."""
    unwritten = {"unwritten": loss.unwritten, "unwrittenReason": loss.unwritten_reason} if loss.unwritten else {}
    return {
        "evicted": loss.evicted,
        "evictedUntilNs": loss.evicted_until_ns,
        "sampledOut": loss.sampled_out,
        "lost": loss.lost,
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
