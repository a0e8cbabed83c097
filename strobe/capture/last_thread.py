"""The end of a program whose main thread has ended before it: the C library ends a process with its last thread.

The agent's threads count there as the program's own do, so that its last one is not the last of all.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Protocol

from strobe.errors import StrobeError

log = logging.getLogger(__name__)

_POLL_S = 0.2  # the end of a thread is not reported before Linux 6.9
_STATE_FIELD = 0  # of /proc/PID/task/TID/stat behind the name (proc(5))
_EXIT_CODE_FIELD = 49


class Agent(Protocol):
    def program_threads(self, threads: set[int]) -> set[int]:
        """See AgentLink."""

    def end_program(self, code: int) -> None:
        """See AgentLink."""


def end_with_last_thread(pid: int, agent: Agent, released: threading.Event) -> None:
    """Has the agent end the process once only its own threads are left. Returns then, and when `released` is set."""
    while not released.wait(_POLL_S):
        code = _main_thread_exit(pid)
        if code is None:
            continue
        try:
            if _is_alone(pid, agent) and _is_alone(pid, agent):  # a thread may have begun another, and ended
                agent.end_program(code)
                return
        except ProcessLookupError:
            return
        except StrobeError as error:  # stopped, or held by a debugger: it is asked again
            log.warning("process %d has lost its main thread, and its agent does not answer: %s", pid, error)


def _main_thread_exit(pid: int) -> int | None:
    """With what the main thread has ended; None while it lives."""
    fields = _fields(pid, pid)
    if fields is None or fields[_STATE_FIELD] != "Z":
        return None
    status = int(fields[_EXIT_CODE_FIELD])
    return status >> 8 & 0xFF


def _is_alone(pid: int, agent: Agent) -> bool:
    """Raises ProcessLookupError when the process has ended."""
    try:
        tasks = [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError as error:
        raise ProcessLookupError(str(error)) from error
    living = {task for task in tasks if (fields := _fields(pid, task)) is not None and fields[_STATE_FIELD] not in "ZX"}
    return not agent.program_threads(living)


def _fields(pid: int, task: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/task/{task}/stat").read_text(errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()
