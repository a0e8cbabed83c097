"""A program that was started, and then could not be observed."""

from __future__ import annotations

import contextlib

import frida

from strobe.capture.device import FRIDA_ERRORS, ROUTER
from strobe.errors import failure


class killed_on_failure(contextlib.AbstractContextManager[None]):
    def __init__(self, pid: int) -> None:
        self._pid = pid

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None:
            return
        with contextlib.suppress(frida.ProcessNotFoundError, frida.InvalidOperationError):
            ROUTER.device().kill(self._pid)
        ROUTER.disconnect(self._pid)
        program = f"process {self._pid}"
        if isinstance(error, ProcessLookupError):
            raise failure("launch_failed", path=program, reason="it ended before it was ready") from error
        if isinstance(error, FRIDA_ERRORS):
            raise failure("launch_failed", path=program, reason=error) from error


def spawn_hint(error: Exception) -> str:
    return "Is the file on a file system mounted noexec?" if isinstance(error, frida.PermissionDeniedError) else ""
