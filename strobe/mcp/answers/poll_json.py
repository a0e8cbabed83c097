"""Polls as tools show them: the answer to the start of one, and how those of a session went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strobe.limits import POLL_DURATION_MS, POLL_INTERVAL_MS
from strobe.mcp.schema import Integer, Record

if TYPE_CHECKING:
    from strobe.session import Session
    from strobe.session.variables.polls import Poll
    from strobe.timeline.polls import PollRecord


def _between(bounds: tuple[int, int]) -> Integer:
    low, high = bounds
    return Integer(description=f"{low} to {high}", low=low, high=high)


PARAMETERS = Record(
    fields={
        "intervalMs": _between(POLL_INTERVAL_MS),
        "durationMs": _between(POLL_DURATION_MS),
    },
    required=("intervalMs", "durationMs"),
    description="instead read repeatedly: each tick is one variable_snapshot event of all targets; answers at once",
)
_SHOWN = 8
_ENDS = {
    "duration": "after its duration",
    "program": "the program ended",
    "stopped": "the session was stopped",
    "failed": "a fault in Strobe",
}


def begun(session_id: str, poll: Poll) -> dict[str, Any]:
    """What debug_read answers: what is polled, what is not and why, and where the samples are to be found."""
    targets: list[dict[str, Any]] = []
    for result in poll.first:
        shown = {"target": result.target, "type": result.type, "size": result.size}
        shown |= {"error": None if result.error is None else result.error.sentences}
        targets.append({name: value for name, value in shown.items() if value is not None})
    expected = poll.record.expected
    query = f'debug_query {{"sessionId":"{session_id}","eventType":"variable_snapshot"'
    steps = [
        query + "}: the samples so far, and in `polls` whether this one goes on",
        query + f',"afterEventId":"{session_id}-{poll.record.number}"}}: only what comes from now on',
    ]
    note = {} if expected else {"status": "Nothing is polled: no target can be read."}
    return {"expectedSamples": expected, "targets": targets, **note, "nextSteps": steps if expected else []}


def of_session(session: Session) -> list[dict[str, Any]]:
    """The last polls of a session, newest first."""
    is_running = session.summary().status == "running"
    return [_shown(poll, is_running) for poll in session.polls()[: -_SHOWN - 1 : -1]]


def _shown(poll: PollRecord, is_running: bool) -> dict[str, Any]:
    going_on = poll.ended_by is None
    ended = _ENDS[poll.ended_by] if poll.ended_by else None if is_running else "the Strobe that polled was killed"
    shown = {
        "targets": list(poll.targets),
        "intervalMs": poll.interval_ms,
        "expectedSamples": poll.expected,
        "samples": None if going_on and not poll.samples else poll.samples,
        "missed": poll.missed or None,
        "fromNs": poll.start_ns,
        "toNs": poll.end_ns,
        "ended": ended,
    }
    return {name: value for name, value in shown.items() if value is not None}
