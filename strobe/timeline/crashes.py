"""crash events: by which signal a program ended, and where its thread was, as JSON text: {"text": …, "values": {…}}."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

EVENT_TYPE = "crash"


def dump(text: str, values: Mapping[str, Any]) -> str:
    """The text of an event. `text`: a sentence; `values`: plain ones."""
    return json.dumps({"text": text, "values": dict(values)}, separators=(",", ":"))


def load(content: bytes) -> tuple[str, dict[str, Any]] | None:
    """The sentence and the values; None where it is none of `dump`."""
    try:
        document = json.loads(content)
    except ValueError:
        return None
    if not isinstance(document, dict) or not isinstance(document.get("values"), dict):
        return None
    return str(document.get("text", "")), document["values"]
