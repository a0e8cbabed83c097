"""What an event says, in one line."""

from __future__ import annotations

from strobe.model import Event
from strobe.report import snapshots, wording


def what_happened(event: Event) -> str:
    """Its name and values."""
    function = wording.one_line(event.function or "?")
    if event.event_type == "function_enter":
        return f"{function}({wording.arguments(event.arguments)}){wording.watches(event.watch_values)}"
    if event.event_type == "probe":
        values = ", ".join(f"{name}={wording.value(value)}" for name, value in (event.watch_values or {}).items())
        said = values if event.text is None else wording.one_line(event.text)
        return f"{wording.one_line(event.label or '?')} in {function}  {said}".rstrip()
    if event.event_type == "function_exit":
        result = "" if event.return_value is None else f" = {wording.value(event.return_value)}"
        time = wording.duration(event.duration_ns or 0)
        return f"{function}{result}  {time}{wording.watches(event.watch_values)}"
    return (
        wording.one_line(event.text or "") if event.text is not None or event.values is None else snapshots.line(event)
    )
