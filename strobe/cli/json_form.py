"""Events, totals, loss and sessions as JSON: the field names of the MCP tools (docs/tools.md), nothing left out."""

from __future__ import annotations

import json
from typing import Any

import orjson

from strobe.model import Event, GroupBy, Loss, SessionSummary, Totals

_LARGEST_EXACT = 1 << 53  # JavaScript, and jq with it, corrupts integers from here on


def dumps(value: object, indent: bool = False) -> str:
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
    """Fields that the event does not have are left out; `arguments` maps names to values."""
    given: dict[str, Any] = {
        "id": event.id,
        "timestampNs": event.timestamp_ns,
        "eventType": event.event_type,
        "threadId": event.thread_id,
        "threadName": event.thread_name,
        "pid": event.pid,
        "function": event.function,
        "functionRaw": event.function_raw,
        "sourceFile": event.source_file,
        "line": event.line,
        "depth": event.depth,
        "parentEventId": event.parent_event_id,
        "returnValue": _exact(event.return_value),
        "returnType": event.return_type,
        "durationNs": event.duration_ns,
        "sampled": event.sampled or None,
        "text": event.text,
    }
    if event.arguments is not None:
        given["arguments"] = {item.name or f"arg{i}": _exact(item.value) for i, item in enumerate(event.arguments)}
    return {name: value for name, value in given.items() if value is not None}


def totals_json(group: Totals, group_by: GroupBy) -> dict[str, object]:
    key = {"function": "function", "thread": "threadName", "file": "sourceFile"}[group_by]
    given: dict[str, Any] = {
        key: group.key,
        "threadId": group.thread_id,
        "count": group.count,
        "completed": group.completed,
        "totalNs": group.total_ns,
        "minNs": group.min_ns,
        "meanNs": group.mean_ns,
        "p50Ns": group.p50_ns,
        "p99Ns": group.p99_ns,
        "maxNs": group.max_ns,
        "leftWithoutReturn": group.unwound or None,
        "returnsNotSeen": group.exits_missed or None,
        "eventsEvicted": group.evicted or None,
        "eventsSampledOut": group.sampled_out or None,
        "eventsLost": group.lost or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def loss_json(loss: Loss) -> dict[str, object]:
    return {
        "evicted": loss.evicted,
        "evictedUntilNs": loss.evicted_until_ns,
        "sampledOut": loss.sampled_out,
        "lost": loss.lost,
    }


def session_json(summary: SessionSummary) -> dict[str, object]:
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
    }


def _exact(value: int | bool | str | float | None) -> int | bool | str | float | None:
    if isinstance(value, int) and abs(value) >= _LARGEST_EXACT:
        return str(value)
    return value
