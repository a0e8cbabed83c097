"""MCP's resources: what is too big for an answer, for a client that shows or keeps it.

Each is reachable by a tool as well, in parts: events and output by debug_query. Lists and contents change as sessions
do, so nobody may cache them.
"""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from strobe.errors import StrobeError
from strobe.mcp import endpoint, results
from strobe.mcp.jsonrpc import ProtocolError, RequestId
from strobe.mcp.redaction import redacted
from strobe.mcp.tool import Context
from strobe.model import EventFilter
from strobe.timeline.moments import event_id, event_number

if TYPE_CHECKING:
    from strobe.session import Session

NOT_FOUND = -32002  # until 2025-11-25; from then on it is INVALID_PARAMS
NEWEST_EVENTS = 10_000
NEWEST_LINES = 5_000
OUTPUT_BYTES = 4 << 20
LOG_BYTES = 64 << 10
LISTED_SESSIONS = 20

_LINES_AT_ONCE = 100

_LOG = "strobe://log"
_SESSION = "strobe://sessions/"
_JSON, _TEXT = "application/json", "text/plain"
_OF_A_SESSION = {
    "trace.json": (_JSON, f"Flame chart for Perfetto or speedscope, the newest {NEWEST_EVENTS:,} events; all of them: "
                   "strobe export"),
    "output.txt": (_TEXT, f"What it printed, the newest {NEWEST_LINES:,} lines, and 4 MiB"),
}  # fmt: skip


def templates() -> dict[str, Any]:
    """The result of resources/templates/list."""
    found = [
        {"uriTemplate": f"{_SESSION}{{sessionId}}/{name}", "name": name, "description": said, "mimeType": kind}
        for name, (kind, said) in _OF_A_SESSION.items()
    ]
    return {"resourceTemplates": found}


def listing(context: Context) -> dict[str, Any]:
    """The result of resources/list: of the newest sessions, and the log."""
    newest = sorted(context.sessions().list(), key=lambda item: item.started_at, reverse=True)[:LISTED_SESSIONS]
    found = [
        {
            "uri": f"{_SESSION}{quote(item.session_id)}/{name}",
            "name": f"{item.session_id} {name}",
            "description": said,
            "mimeType": kind,
        }
        for item in newest
        for name, (kind, said) in _OF_A_SESSION.items()
    ]
    log = {"uri": _LOG, "name": "log", "description": "The end of the daemon's log", "mimeType": _TEXT}
    return {"resources": [*found, log]}


def read(uri: object, context: Context, request_id: RequestId, fault: int) -> dict[str, Any]:
    """The result of resources/read. Raises ProtocolError with the code `fault` where there is no such resource."""
    if uri == _LOG:
        return _contents(_LOG, _TEXT, _end_of(endpoint.log_path(context.home)))
    if isinstance(uri, str) and uri.startswith(_SESSION):
        name, _, kind = uri.removeprefix(_SESSION).partition("/")
        if kind in _OF_A_SESSION:
            try:
                session = context.sessions().get(unquote(name))
                text = _trace(session) if kind == "trace.json" else _output(session)
            except StrobeError as error:
                raise ProtocolError(fault, str(error), request_id, {"uri": uri}) from error
            return _contents(uri, _OF_A_SESSION[kind][0], redacted(text, context.home))
    known = ", ".join([_LOG, *(f"{_SESSION}SESSION/{kind}" for kind in _OF_A_SESSION)])
    raise ProtocolError(fault, f"Unknown resource: {uri}. Resources: {known}", request_id, {"uri": uri})


def _contents(uri: str, kind: str, text: str) -> dict[str, Any]:
    return {"contents": [results.plain({"uri": uri, "mimeType": kind, "text": text})]}


def _trace(session: Session) -> str:
    from strobe.report.chrome_trace import document

    return "".join(document(session, NEWEST_EVENTS))


def _output(session: Session) -> str:
    wanted, held, size = EventFilter(text=""), deque[str](), 0
    while len(held) < NEWEST_LINES and (events := session.last(wanted, _LINES_AT_ONCE)):
        for event in reversed(events):
            size += len(event.text or "")
            if held and size > OUTPUT_BYTES:
                return "".join(held)
            held.appendleft(event.text or "")
        before = event_number(session.id, events[0].id) - 1
        wanted = EventFilter(text="", to_event=event_id(session.id, before))
    return "".join(held)


def _end_of(path: str) -> str:
    with open(path, "rb") as file:  # noqa: PTH123
        file.seek(max(0, os.fstat(file.fileno()).st_size - LOG_BYTES))
        return file.read().decode(errors="replace")
