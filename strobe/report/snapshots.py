"""Values of variables that were polled or written, as a person reads them."""

from __future__ import annotations

import json
import re
from typing import Any

from strobe.model import Event
from strobe.report import wording

# what is not text of the program, though JSON has it as a string: addresses, enumerators, characters, <struct>
_NO_TEXT = re.compile(
    r"0x[0-9a-f]+(?: <.*>)?|<.*>|[A-Za-z_][\w:|]*\(-?\d+\)|'.*'|-?inf|-?nan|Null pointer|Address not .*"
)


def line(event: Event) -> str:
    """ "gTempo = 121, gVoice = {freq = 440.0, note = 3}; gClock->counter: Null pointer at gClock." """
    previous = event.previous or {}
    shown = [_assignment(name, value, previous) for name, value in (event.values or {}).items()]
    errors = [f"{name}: {message}" for name, message in (event.errors or {}).items()]
    return wording.one_line("; ".join([part for part in (", ".join(shown), *errors) if part]))


def _assignment(name: str, value: Any, previous: dict[str, Any]) -> str:
    before = f" (written; it was {plain(previous[name])})" if name in previous else ""
    return f"{name} = {plain(value)}{before}"


def plain(value: Any) -> str:
    """A plain value (values.text.plain) on one line, as values.text.shown writes it."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "?"
        case str():
            return value if _NO_TEXT.fullmatch(value) else json.dumps(value, ensure_ascii=False)
        case {"pointer": pointer, "to": target, **rest} if not rest:
            return f"{pointer} -> {plain(target)}"
        case {"count": count, "elements": elements, **rest} if not rest:
            return f"[{', '.join(map(plain, elements))}, … {count} in all]"
        case dict():
            return "{" + ", ".join(f"{name} = {plain(field)}" for name, field in value.items()) + "}"
        case list():
            return f"[{', '.join(map(plain, value))}]"
    return str(value)


def poll_line(poll: dict[str, Any]) -> str:
    """How a poll went: "poll of gTempo every 50 ms: 600 of 600 samples"."""
    missed = f", {poll['missed']:,} left out as they came too late" if "missed" in poll else ""
    samples = f"{poll.get('samples', 0):,} of {wording.counted(poll['expectedSamples'], 'sample')}"
    if "ended" not in poll:
        how = "; it goes on"
    else:
        how = "" if poll["ended"] == "after its duration" else f"; ended early: {poll['ended']}"
    return f"poll of {', '.join(poll['targets'])} every {poll['intervalMs']} ms: {samples}{missed}{how}"
