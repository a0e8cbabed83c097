"""One living program that is tortured, with what is known of it."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from support.torture.kinds import Kind

_BUSY_TRIES = 100
LAST_ROUND_SECONDS = 900  # a program that nobody ends does so itself


@dataclass
class Window:
    """`counted` is traced since its counter was between `low` and `high`; from the program's start on where 0 and 0."""

    low: int = 0
    high: int = 0


@dataclass
class Subject:
    """`process`: where the driver itself started it, `session`: while Strobe observes it."""

    kind: Kind
    program: Path
    pid: int
    number: int
    process: subprocess.Popen[bytes] | None = None
    output: Path | None = None
    session: str | None = None
    window: Window | None = None
    written: int | None = None
    patterns: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    is_stopped: bool = False
    last_rounds: int = 0
    refuses: bool = False  # Frida's agent did not start in it, and will not again
    changed_patterns: bool = False

    @property
    def title(self) -> str:
        how = "launched" if self.process is None else "attached" if self.session else "alone"
        return f"{self.kind.name}#{self.number} ({how}, {self.pid})"

    @property
    def was_launched(self) -> bool:
        return self.process is None

    def send(self, number: int) -> None:
        """Strobe may have seen its end already, and another process may have its number: a descriptor cannot lie."""
        assert self.pid > 0  # 0 and less are groups
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def let_go_on(self) -> None:
        if self.is_stopped:
            self.send(signal.SIGCONT)
            self.is_stopped = False

    def kill(self) -> None:
        """For the end of a test that has failed."""
        self.send(signal.SIGKILL)
        if self.process is not None:
            self.process.wait(30)


def _started(command: Sequence[str | Path], output: IO[bytes], folder: Path) -> subprocess.Popen[bytes]:
    """Tried again where a process that was just forked here still has the file open that another lane has copied."""
    for _ in range(_BUSY_TRIES):
        try:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder)
        except OSError as error:
            if error.errno != errno.ETXTBSY:
                raise
            time.sleep(0.05)
    raise AssertionError(f"{command[0]} stays busy")


def start(kind: Kind, program: Path, arguments: list[str], number: int, folder: Path) -> Subject:
    """Starts it without Strobe, and waits until it says that it is ready."""
    output = folder / f"{kind.name}-{number}.txt"
    with output.open("wb") as file:
        process = _started([program, *arguments], file, folder)
    return Subject(kind, program, process.pid, number, process, output)
