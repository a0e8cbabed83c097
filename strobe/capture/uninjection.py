"""The last thing that Frida does to a process it lets go of."""

from __future__ import annotations

import time
from pathlib import Path

_QUIET_S = 0.03
_LONGEST_S = 1.0
_POLL_S = 0.0002


def wait_for_uninjection(pid: int) -> None:
    """Waits until Frida's helper has stopped the process for the last time, to unmap what it loaded there.

    It does so more than once in the 5 ms after the session's end (17.26), and a signal that comes to the process
    meanwhile is lost. So nobody who was told that the session is over should send one before: this returns when the
    process was not traced for 30 ms, or is gone.
    """
    deadline = time.monotonic() + _LONGEST_S
    quiet_since = time.monotonic()
    while (now := time.monotonic()) < deadline and now - quiet_since < _QUIET_S:
        traced = _is_traced(pid)
        if traced is None:
            return
        if traced:
            quiet_since = now
        time.sleep(_POLL_S)


def _is_traced(pid: int) -> bool | None:
    """None when there is no such process."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    return status.partition("TracerPid:")[2].split()[0] != "0"
