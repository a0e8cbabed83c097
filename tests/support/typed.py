"""What programs say that their functions were given and gave back, beside what events say of it."""

from __future__ import annotations

import re

from strobe.model import CALL_EVENTS, Event, EventFilter
from strobe.report import wording
from strobe.session import Session
from support.sessions import all_events, text

_ADDRESS = re.compile(r"@|0x[0-9a-f]+")


def told(session: Session) -> list[str]:
    """The program's own lines."""
    return [line for line in text(session, "stdout").splitlines() if line[:2] in ("> ", "< ")]


def seen(session: Session) -> list[str]:
    """The same lines out of events."""
    return [_line(event) for event in all_events(session, EventFilter()) if event.event_type in CALL_EVENTS]


def _line(event: Event) -> str:
    name = (event.function or "").rpartition("::")[2]
    if event.event_type == "function_enter":
        return f"> {name}({wording.arguments(event.arguments)})"
    return f"< {name} = {wording.value(event.return_value)}"


def agrees(line: str, event: str) -> bool:
    """Values that are not known agree with any; "@" in the program's line with any address."""
    if "@" in line:
        line, event = _ADDRESS.sub("0x1", line), _ADDRESS.sub("0x1", event)
    parts = re.escape(event).replace(r"=\?", "=.*?").replace(r"=\ \?", r"=\ .*?").replace(r"\(…\)", ".*")
    return re.fullmatch(parts, line) is not None


def unknown(lines: list[str], events: list[str]) -> int:
    """How many values the events leave open that the program tells; fails where one is wrong."""
    wrong = [f"{line}\n{event}" for line, event in zip(lines, events, strict=True) if not agrees(line, event)]
    assert not wrong, "\n".join(wrong)
    return _open(events) - _open(lines)


def _open(lines: list[str]) -> int:
    return sum(len(re.findall(r"= ?\?", line)) for line in lines)
