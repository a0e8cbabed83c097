"""Processes of tests: finds them, and ends those that were attached to from this very process, where Popen cannot be
trusted to.

A wait in the process that debugs its own child is told of the child's ptrace stops whatever it asked for, and Popen
takes a stop for the end: kill() looks first, sends nothing then, and the process is left over.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any, AnyStr

from support.wait import wait_until

_ENDS = (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED)


def end(process: subprocess.Popen[Any]) -> None:
    """Kills it, if it still runs, and reaps it; its pipes are closed."""
    if process.returncode is None:
        os.kill(process.pid, signal.SIGKILL)
        process.returncode = reaped(process.pid)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def reaped(pid: int) -> int:
    """Waits for the end of a child: its exit code, or minus the signal's number."""
    while True:
        state = os.waitid(os.P_PID, pid, os.WEXITED)
        if state is not None and state.si_code in _ENDS:
            return state.si_status if state.si_code == os.CLD_EXITED else -state.si_status


def child_of(process: subprocess.Popen[Any], name: str) -> int:
    """The process id of the program that Strobe has started."""

    def find() -> int | None:
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                head, _, rest = stat.read_text(errors="replace").rpartition(")")
            except OSError:
                continue
            if int(rest.split()[1]) == process.pid and head.partition("(")[2].startswith(name[:15]):
                return int(stat.parent.name)
        return None

    return wait_until(find, f"{name} to be started")


_PROGRESS = r"(?m)^strobe: [^\n]* \.\.\.\n"


def without_progress(stderr: AnyStr) -> AnyStr:
    """Without the lines that a command of Strobe prints where it takes more than a second, as on a busy machine."""
    if isinstance(stderr, bytes):
        return re.sub(_PROGRESS.encode(), b"", stderr)
    return re.sub(_PROGRESS, "", stderr)
