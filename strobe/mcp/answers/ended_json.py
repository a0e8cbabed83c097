"""How a session's program ended, as answers show it."""

from __future__ import annotations

from typing import Any

from strobe.session.answers import Ending

SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "how the program ended; not there while it runs",
    "properties": {
        "exitCode": {"type": "integer"},
        "signal": {"type": "string", "description": "SIGSEGV …"},
        "crash": {"type": "string", "description": "where; more: debug_query {eventType: crash}"},
        "reason": {"type": "string", "description": "where neither is known"},
    },
}


def of(ended: Ending | None) -> dict[str, Any]:
    """The field `ended`; nothing while the program runs."""
    if ended is None:
        return {}
    if ended.signal is not None:
        crash = {} if ended.crash is None else {"crash": ended.crash}
        return {"ended": {"signal": ended.signal, **crash}}
    return {"ended": {"reason": ended.how} if ended.exit_code is None else {"exitCode": ended.exit_code}}
