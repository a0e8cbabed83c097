"""The last thing that Frida does to a process it lets go of."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from pathlib import Path

from strobe.capture.task_status import is_stopped, is_traced
from strobe.process_maps import maps_lines

_QUIET_S = 0.1
_LOOK_S = 0.05
_LONGEST_S = 20.0  # Frida works by timers, and the machine may be busy
_POLL_S = 0.0005
_LATE_LOOK_S = 1.0


class Injection:
    """Made before Frida attaches to a process; knows when Frida has nothing more to do there.

    Until then Frida's helper may stop the process by ptrace: a signal that comes meanwhile may be lost, and a parent in
    whose own process Strobe runs sees the stops when it waits for its child, whatever it asked for.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._before = _writable_code(pid)
        self._loader: set[tuple[int, int]] = set()

    def note(self) -> None:
        """Frida is in. The memory that its loader runs in is the first that it maps and the last that goes."""
        self._loader = _writable_code(self._pid) - self._before

    @property
    def loader(self) -> tuple[int, int]:
        """From where to where that memory lies; (0, 0) where it was not seen."""
        if len(self._loader) != 1:
            return 0, 0
        return next(iter(self._loader))

    def wait_for_beginning(self, is_ours: Callable[[], bool]) -> None:
        """Waits until the main thread is traced no more, or by ourselves, 20 s at most."""
        deadline = time.monotonic() + _LONGEST_S
        while time.monotonic() < deadline and is_traced(self._pid, [self._pid]) and not is_ours():
            time.sleep(_POLL_S)

    def has_begun(self) -> bool:
        """Something of Frida's loader is, or may be, in the process."""
        return bool(_writable_code(self._pid) - self._before) or is_traced(self._pid) is not False

    def wait_for_end(self, waits_while_stopped: bool, is_refused: Callable[[], bool]) -> bool:
        """Waits until Frida has stopped the process for the last time and let go of it, 20 s at most: False after that.
        `waits_while_stopped`: in which the process was not stopped (SIGSTOP), when it can do nothing. `is_refused`:
        whether Frida was not let in, and leaves the memory of its loader there.

        It looks 50 ms after the session's end whether its thread is gone, then stops the process, has it unmap the
        loader, and lets it go (17.26). Where no loader was seen, 100 ms in which nobody traces the process must do.
        """
        deadline = time.monotonic() + _LONGEST_S
        quiet_since = looked = time.monotonic()
        while (now := time.monotonic()) < deadline:
            if waits_while_stopped and now - looked > _LOOK_S:
                deadline += now - looked if is_stopped(self._pid) else 0.0
                looked = now
            has_loader = bool(self._loader & _writable_code(self._pid))  # before: it goes while the process is traced
            traced = is_traced(self._pid)
            if traced is None or (is_refused() and not traced):
                return True
            if traced or has_loader:
                quiet_since = now
            elif self._loader or now - quiet_since > _QUIET_S:
                return True
            time.sleep(_POLL_S)
        return False

    def wait_for_late_end(self) -> None:
        """As `wait_for_end`, for as long as the process lives."""
        try:
            process = os.pidfd_open(self._pid)
        except OSError:
            return
        try:
            ended = select.poll()
            ended.register(process, select.POLLIN)
            while not ended.poll(_LATE_LOOK_S * 1000):
                if not self._loader & _writable_code(self._pid) and not is_traced(self._pid):
                    return
        finally:
            os.close(process)


def _writable_code(pid: int) -> set[tuple[int, int]]:
    """Where memory that belongs to no file can be both written and executed."""
    try:
        lines = list(maps_lines(Path(f"/proc/{pid}/maps").read_text(errors="replace")))
    except OSError:
        return set()
    return {(line.start, line.end) for line in lines if line.permissions.startswith("rwx") and not line.name}
