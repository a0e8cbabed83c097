"""debug_stop: end a session and keep or drop what it recorded."""

from __future__ import annotations

from typing import Any

from strobe.mcp.results import bounded
from strobe.mcp.schema import Boolean, Record
from strobe.mcp.tool import Context, Tool
from strobe.mcp.tools.parameters import SESSION_ID


def run(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    """`success`, and `eventsCollected`: how many events the session had. Raises session_not_found."""
    session = context.sessions().get(arguments["sessionId"])
    collected = session.stop(retain=arguments.get("retain", False))
    answer: dict[str, Any] = {"success": True, "eventsCollected": collected}
    if session.failures:  # of the end, above all: nothing else will report it
        answer["warnings"] = bounded(list(session.failures))
    return answer


TOOL = Tool(
    name="debug_stop",
    title="End a session",
    description="End a session: a program that Strobe started is ended; one that was attached to keeps running, as do "
    "its forked children. Without retain, the recording is dropped.",
    parameters=Record(
        fields={
            "sessionId": SESSION_ID,
            "retain": Boolean(description="keep the recording for debug_query", default=False),
        },
        required=("sessionId",),
    ),
    run=run,
    read_only=False,
    destructive=True,
    idempotent=False,
)
