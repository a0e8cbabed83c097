"""A program that was started, and then could not be observed."""

from __future__ import annotations

import contextlib
import os
import signal

from strobe.capture.agent.device import FRIDA_ERRORS, ROUTER
from strobe.capture.agent.frida_import import frida
from strobe.capture.attachable import refused
from strobe.errors import StrobeError, failure


class killed_on_failure(contextlib.AbstractContextManager[None]):
    """Context of a started process: an exception in it kills the process. By pidfd, so that no other one is hit."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._process: int | None = None
        with contextlib.suppress(OSError):  # it has ended
            self._process = os.pidfd_open(pid)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            if error is not None:
                self._kill()
        finally:
            if self._process is not None:
                os.close(self._process)
        if error is None:
            return
        ROUTER.disconnect(self._pid)
        program = f"process {self._pid}"
        if isinstance(error, ProcessLookupError):
            raise ended_early(self._pid, attached=False) from error
        if isinstance(error, FRIDA_ERRORS):
            raise failure("launch_failed", path=program, reason=error) from error

    def _kill(self) -> None:
        with contextlib.suppress(*FRIDA_ERRORS):  # which it raises of many kinds where the process has ended
            use = ROUTER.use()
            try:
                use.device.kill(self._pid)
            finally:
                use.end()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._process, signal.SIGKILL)


def ended_early(pid: int, attached: bool) -> StrobeError:
    """The process has ended while it was taken under observation."""
    if attached:
        return refused(pid, "it ended, or became another program, in the meantime", is_permission=False)
    return failure("launch_failed", path=f"process {pid}", reason="it ended before it was ready")


def spawn_hint(error: Exception) -> str:
    """What to try where Frida could not start a program; "" where nothing is known."""
    return "Is the file on a file system mounted noexec?" if isinstance(error, frida.PermissionDeniedError) else ""
