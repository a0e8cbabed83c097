"""debug_list_sessions: what is running or kept."""

from __future__ import annotations

from typing import Any

from strobe.limits import ANSWER_BYTES
from strobe.mcp import results
from strobe.mcp.schema import Record
from strobe.mcp.tool import Context, Tool
from strobe.model import SessionSummary

_ENVELOPE_BYTES = 100


def run(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    """`sessions`, the newest first, as many as an answer has room for."""
    newest_first = sorted(context.sessions().list(), key=lambda item: item.started_at, reverse=True)
    sessions = [_wire(item) for item in newest_first]
    shown = results.fitting(sessions, ANSWER_BYTES - _ENVELOPE_BYTES)
    answer: dict[str, Any] = {"sessions": sessions[:shown]}
    if shown < len(sessions):
        answer |= {"truncated": True, "totalSessions": len(sessions)}
    return answer


def _wire(item: SessionSummary) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "sessionId": item.session_id,
        "binaryPath": item.binary_path,
        "pid": item.pid,
        "startedAt": item.started_at,
        "endedAt": item.ended_at,
        "status": item.status,
    }
    if item.exit_code is not None:
        wire["exitCode"] = item.exit_code
    if item.signal is not None:
        wire["signal"] = item.signal
    if item.children:
        wire["children"] = list(item.children)
    return wire


TOOL = Tool(
    name="debug_list_sessions",
    title="List sessions",
    description="Running and kept sessions, newest first: sessionId, binaryPath, pid, startedAt, "
    "endedAt, status (running, exited, stopped), exitCode or signal; children: forked processes "
    "that are still recorded.",
    parameters=Record(),
    run=run,
    read_only=True,
    destructive=False,
    idempotent=True,
)
