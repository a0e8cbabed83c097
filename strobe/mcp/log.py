"""The daemon's log: everything on standard error, in a file that never grows beyond a bound."""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import sys
from pathlib import Path

MAX_BYTES = 1 << 20


class BoundedLog(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to descriptor 2, where native code writes too. A full file becomes FILE.1, and a new one begins."""

    def __init__(self, path: Path) -> None:
        super().__init__(sys.stderr)
        self._path = path
        self.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Raises nothing: what cannot be written is missing in the log."""
        with contextlib.suppress(OSError):  # no descriptor is free, or the disk is full: the old file goes on
            found = os.fstat(2)
            if stat.S_ISREG(found.st_mode) and found.st_size > MAX_BYTES:
                self._begin_anew()
        super().emit(record)

    def _begin_anew(self) -> None:
        fresh_path = Path(f"{self._path}.new")
        fresh = os.open(fresh_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            self._path.replace(f"{self._path}.1")
            fresh_path.replace(self._path)
            for descriptor in (1, 2):
                os.dup2(fresh, descriptor)
        finally:
            os.close(fresh)


def write_to_stderr(path: Path) -> None:
    """Sends the log of this process to standard error, which is the file `path` in a daemon."""
    logging.basicConfig(level=logging.INFO, handlers=[BoundedLog(path)])
