"""debug_delete_session: drop a session that no longer runs."""

from __future__ import annotations

from typing import Any

from strobe.mcp.schema import Record
from strobe.mcp.tool import Context, Tool
from strobe.mcp.tools.parameters import SESSION_ID


def run(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    """`success`. Raises session_not_found, session_running."""
    context.sessions().delete(arguments["sessionId"])
    return {"success": True}


TOOL = Tool(
    name="debug_delete_session",
    title="Delete a session",
    description="Delete the recording of a session that has ended or was stopped, and free its files.",
    parameters=Record(fields={"sessionId": SESSION_ID}, required=("sessionId",)),
    run=run,
    read_only=False,
    destructive=True,
    idempotent=False,
)
