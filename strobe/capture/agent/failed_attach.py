"""What Frida leaves in a process that it could not attach to."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from pathlib import Path

from strobe import _core, threads
from strobe.capture.agent.agent_socket import maker, sockets
from strobe.capture.task_status import task_ids

_AT_ONCE_S = 2.0
_POLL_S = 0.05


class AttachAttempt(contextlib.AbstractContextManager[None]):
    """Frida attaches to a process in its `with`; where that fails the program goes on, as soon as the kernel lets it.

    Frida holds the main thread and starts one that loads the agent. Where the main thread is in the middle of loading
    a library itself, or the processors are busy, Frida gives up after 5 s and leaves the main thread stopped; so it
    does where the main thread did not stop in time. The other one ends by itself when its connection is closed.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._before = set(sockets(os.getpid()).values())

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is None:
            return
        self._close_connections()
        if not self._let_go(_AT_ONCE_S):
            threads.start(f"strobe-let-go-{self._pid}", self._let_go, threads.logged_only)

    def _close_connections(self) -> None:
        """Frida never does. They are between sockets that were made in that process."""
        for descriptor, name in sockets(os.getpid()).items():
            if name in self._before:
                continue
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as copy:
                if copy.family == socket.AF_UNIX and maker(copy) == self._pid:
                    copy.shutdown(socket.SHUT_RDWR)

    def _let_go(self, seconds: float = float("inf")) -> bool:
        deadline = time.monotonic() + seconds
        while traced := self._traced():
            if time.monotonic() > deadline:
                return False
            for task, tracer in traced:
                _core.detach_by(tracer, task)
            time.sleep(_POLL_S)
        return True

    def _traced(self) -> list[tuple[int, int]]:
        """(thread, who traces it) of those that a thread of this process traces."""
        found = []
        for task in _tasks(self._pid):
            with contextlib.suppress(OSError):
                status = Path(f"/proc/{self._pid}/task/{task}/status").read_bytes()  # names are any bytes
                tracer = int(status.partition(b"TracerPid:")[2].split()[0])
                if tracer and Path(f"/proc/{os.getpid()}/task/{tracer}").exists():
                    found.append((task, tracer))
        return found


def _tasks(pid: int) -> set[int]:
    """Its threads; none where it is gone."""
    try:
        return task_ids(pid)
    except OSError:
        return set()
