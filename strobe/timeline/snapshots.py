"""variable_snapshot events: what the variables of a poll, or of a write, had at one moment, as JSON text.

{"values": {target: value}, "errors": {target: message}, "previous": {target: value}}: the last two only where there is
something to say; "previous" is what Strobe has written over.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from strobe.dataclass import dataclass

EVENT_TYPE = "variable_snapshot"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Plain values, as values.text.plain gives them, and messages, by target."""

    values: dict[str, Any]
    errors: dict[str, str] | None = None
    previous: dict[str, Any] | None = None


def dump(
    values: Mapping[str, Any], errors: Mapping[str, str] | None = None, previous: Mapping[str, Any] | None = None
) -> str:
    """The text of an event. Numbers that JSON has not become text: inf, nan, and integers of more than 64 bits."""
    document: dict[str, Any] = {"values": dict(values)}
    document |= {name: dict(part) for name, part in (("errors", errors), ("previous", previous)) if part}
    return json.dumps(_portable(document), separators=(",", ":"))


def load(text: bytes) -> Snapshot | None:
    """None where the text is none of `dump`."""
    try:
        document = json.loads(text)
    except ValueError:
        return None
    if not isinstance(document, dict) or not isinstance(document.get("values"), dict):
        return None
    return Snapshot(document["values"], document.get("errors"), document.get("previous"))


def _portable(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _portable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_portable(item) for item in value]
    if isinstance(value, bool):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return str(value)
    return value
