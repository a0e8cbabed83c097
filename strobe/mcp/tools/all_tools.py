"""All tools, in the order in which clients see them."""

from __future__ import annotations

from strobe.mcp.tools import delete_session, launch, list_sessions, logpoint, query, read, stop, trace, write

TOOLS = (
    launch.TOOL,
    trace.TOOL,
    logpoint.TOOL,
    query.TOOL,
    read.TOOL,
    write.TOOL,
    stop.TOOL,
    list_sessions.TOOL,
    delete_session.TOOL,
)
