"""Forked children that are recorded as well, and may outlive the process that Strobe started or attached to."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import weakref
from pathlib import Path

from strobe.process_maps import maps_lines

_POLL_MS = 500  # a child that execs is no longer recorded, and exec is not reported
_LOOKS = 3  # one that forks and ends while the list is read hides the other from the first
_START_FIELD = 19  # of /proc/PID/stat behind the name (proc(5)): clock ticks from boot
_WRITES = "rw-s"  # who only reads the segment is another Strobe process


class RecordedChildren:
    """The living processes that have the session's segment mapped, children of children included.

    `pid`: the session's own process; made while that lives. Older processes than that are not its children.
    """

    def __init__(self, pid: int, segment_path: str) -> None:
        self._own = pid
        self._segment = segment_path
        self._since = started(pid) or 0
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._lock = threading.Lock()
        self._known: tuple[int, list[int]] = (0, [])
        self._closing = weakref.finalize(self, os.close, self._wake)

    def living(self) -> list[int]:
        """Process ids, in order."""
        for _ in range(_LOOKS):
            if pids := self._found():
                return pids
        return []

    def known(self, count: int) -> list[int]:
        """Those that lived when `count` had begun to record. All processes of the system are looked at only where that
        has changed; a child is counted before it records anything."""
        if self._known[0] != count:
            self._known = count, self.living()
        return self._known[1]

    def _found(self) -> list[int]:
        pids = sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
        return [pid for pid in pids if pid != self._own and self._is_recorded(pid)]

    def wait(self, pids: list[int]) -> None:
        """Until one of them has ended, `wake` was called, or half a second has passed."""
        waiting = select.poll()
        waiting.register(self._wake, select.POLLIN)
        with contextlib.ExitStack() as opened:
            for pid in pids:
                try:
                    process = os.pidfd_open(pid)
                except ProcessLookupError:
                    return
                opened.callback(os.close, process)
                waiting.register(process, select.POLLIN)
            waiting.poll(_POLL_MS)

    def wake(self) -> None:
        """For any thread: the current `wait`, and each later one, ends at once."""
        with self._lock:
            if self._closing.alive:
                os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """No `wait` follows."""
        with self._lock:
            self._closing()

    def _is_recorded(self, pid: int) -> bool:
        if (started(pid) or 0) < self._since:
            return False
        try:
            maps = Path(f"/proc/{pid}/maps").read_text(errors="surrogateescape")
        except OSError:  # gone, or another user's
            return False
        written = (line for line in maps_lines(maps) if line.permissions == _WRITES and line.name.startswith("/"))
        return any(line.path == self._segment for line in written)


def started(pid: int) -> int | None:
    """None where there is no such process, or it has ended and was not reaped yet."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else int(fields[_START_FIELD])
