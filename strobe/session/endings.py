"""How a program ended, as the columns of its session."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from signal import Signals

from strobe.model import ExitStatus


def end_columns(status: ExitStatus) -> dict[str, str | int | None]:
    """The columns of a session's record for how its program ended."""
    return {"exit_code": status.code, "signal": None if status.signal is None else signal_name(status.signal)}


def end_fields(status: ExitStatus | None, stopped: bool) -> dict[str, str | int | None]:
    """Of a session that ends now. `status` None: the program goes on without us."""
    ended = datetime.now().astimezone().isoformat(timespec="seconds")
    how = {} if status is None or stopped else end_columns(status)
    return {"status": "stopped" if stopped else "exited", "ended_at": ended, **how}


def signal_number(name: str) -> int:
    """Of a name as `end_columns` gives it."""
    base, _, more = name.partition("+")
    return Signals[base].value + int(more or 0)


def signal_name(number: int) -> str:
    """ "SIGSEGV"; "SIGRTMIN+3" of one that has no name of its own."""
    try:
        return Signals(number).name
    except ValueError:  # a real-time signal between SIGRTMIN and SIGRTMAX
        return f"SIGRTMIN+{number - Signals.SIGRTMIN}"


def open_warnings(streams: Sequence[str]) -> list[str]:
    """Of captured streams that another process can still write to."""
    if not streams:
        return []
    return [
        f"A process that the program had started had {' and '.join(streams)} open when the recording ended: what it"
        " wrote after that is not captured."
    ]
