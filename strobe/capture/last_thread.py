"""The end of a program whose main thread has ended before it: the C library ends a process with its last thread.

The agent's threads count there as the program's own do, so that its last one is not the last of all.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from pathlib import Path
from typing import Protocol

from strobe.capture.task_status import ends_by
from strobe.errors import StrobeError

log = logging.getLogger(__name__)

_POLL_S = 0.2  # the end of a thread is not reported before Linux 6.9
_STATE_FIELD = 0  # of /proc/PID/task/TID/stat behind the name (proc(5))
_EXIT_CODE_FIELD = 49
_SIGNAL = 0x7F  # of a status


class Agent(Protocol):
    def program_threads(self, threads: set[int]) -> set[int]:
        """See AgentLink."""

    def end_program(self, code: int) -> None:
        """See AgentLink."""


def end_with_last_thread(pid: int, agent: Agent, released: threading.Event) -> None:
    """Has the agent end the process once only its own threads are left, or ends it by the signal that has ended its
    main thread. Returns then, and when `released` is set."""
    while not released.wait(_POLL_S):
        status = _main_thread_exit(pid)
        if status is None:
            continue
        try:
            if _is_alone(pid, agent) and _is_alone(pid, agent):  # a thread may have begun another, and ended
                if status & _SIGNAL:
                    _end_by(pid, status & _SIGNAL)
                else:
                    agent.end_program(status >> 8 & 0xFF)
                return
        except ProcessLookupError:
            return
        except StrobeError as error:  # stopped, or held by a debugger: it is asked again
            log.warning("process %d has lost its main thread, and its agent does not answer: %s", pid, error)


def _end_by(pid: int, number: int) -> None:
    """A filter of system calls has ended the main thread alone (SECCOMP_RET_KILL_THREAD, strict mode), which ends a
    process that has no other one."""
    os.kill(pid, number if ends_by(pid, number) else signal.SIGKILL)  # a handler would run in a thread of the agent's


def _main_thread_exit(pid: int) -> int | None:
    """With what the main thread has ended, as wait(2) has it; None while it lives."""
    fields = _fields(pid, pid)
    if fields is None or fields[_STATE_FIELD] != "Z":
        return None
    return int(fields[_EXIT_CODE_FIELD])


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
