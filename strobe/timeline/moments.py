"""Points in a session's time: event numbers and ids, and "-5s" before the newest event."""

from __future__ import annotations

import re

from strobe import _abi
from strobe.errors import failure

NUMBER_MAX = (1 << 63) - 1  # of an event; SQLite's integers end there

NS_PER_UNIT = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000}
_VALID_TIME = '0 or more ns since session start, or a time before the newest event such as "-5s", "-1m", "-500ms"'


def before_newest_ns(field: str, value: int | str) -> int | None:
    """How long before the newest event a relative time lies, None for an absolute one. Raises `bad_value`."""
    if isinstance(value, bool):
        raise failure("bad_value", field=field, value=value, reason="a time is a number or a string", valid=_VALID_TIME)
    if isinstance(value, int):
        if value < 0:
            raise failure("bad_value", field=field, value=value, reason="it is negative", valid=_VALID_TIME)
        return None
    found = re.fullmatch(r"-(\d{1,9}(?:\.\d{1,9})?)(ns|us|ms|s|m|h)", value)
    if not found:
        raise failure("bad_value", field=field, value=f"'{value}'", reason="it is not a time", valid=_VALID_TIME)
    return int(float(found[1]) * NS_PER_UNIT[found[2]])


def host_number(moment: int) -> int:
    """Number of a host's event at this moment (Segment.moment): the greatest of that moment."""
    return min(moment << _abi.LANE_BITS | _abi.LANE_HOST, NUMBER_MAX)


def event_id(session_id: str, number: int) -> str:
    """An event's id as users see it: unique in a home."""
    return f"{session_id}-{number}"


def event_number(session_id: str, text: str) -> int:
    """The number in an event id of that session. Raises `bad_cursor`."""
    digits = text.removeprefix(f"{session_id}-")
    if digits == text or not re.fullmatch(r"[0-9]{1,19}", digits) or int(digits) >= 1 << 63:
        raise failure("bad_cursor", cursor=text, session_id=session_id)
    return int(digits)
