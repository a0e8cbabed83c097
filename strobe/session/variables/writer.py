"""`session.writer`: writes of variables and memory of the session's program; each is an event of its timeline."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Sequence

from strobe import _core
from strobe.capture.task_status import filters_calls, is_stopped
from strobe.errors import StrobeError
from strobe.session.variables.observed import Observed
from strobe.session.variables.reader import VariableReader
from strobe.session.variables.session_memory import Rows
from strobe.timeline import snapshots
from strobe.values.decode import text
from strobe.values.write.changes import Change
from strobe.values.write.writing import WriteResult, WriteTarget

log = logging.getLogger(__name__)

_REASONS = {
    "refused": "the kernel says that its memory may not be written any more",
    "late": "the program was stopped, and did not answer in time",
}


class VariableWriter:
    """Of one session, whichever process observes its program. For any thread."""

    def __init__(self, session: Observed, reader: VariableReader) -> None:
        self._session = session
        self._reader = reader

    def write(self, targets: Sequence[WriteTarget]) -> list[WriteResult]:
        """Checks all values, then writes them; an error for each that fails, of which nothing is written.

        From the process that observes the program its agent writes each aligned word atomically; from others the
        kernel does, which does not promise that (WriteResult.is_atomic). Raises process_exited, read_refused,
        replaced_on_disk.
        """
        reads = self._reader.reads()
        try:
            results = reads.write(targets, lambda changes: self._store(reads.pid, changes))
        except ProcessLookupError as error:
            raise self._session.gone() from error
        self._note(results)
        return results

    def _store(self, pid: int, changes: Sequence[Change]) -> tuple[list[str], bool]:
        """Why each was not written, "" for those that were; and whether each word was written atomically."""
        rows = [(change.address, change.data, change.mask) for change in changes]
        answers = self._store_inside(pid, rows)
        if answers is not None:
            return [_REASONS.get(answer, answer) for answer in answers], True
        errors = _core.write_memory(pid, rows)
        if errno.ESRCH in errors:
            raise ProcessLookupError(f"process {pid}")
        if errno.EPERM in errors and not any(error == 0 for error in errors):
            raise PermissionError(errno.EPERM, "process_vm_writev")
        return [_reason(error) for error in errors], False

    def _store_inside(self, pid: int, rows: Rows) -> list[str] | None:
        """By the agent, where it is ours and answers; None where it does not."""
        inside = self._session.inside
        if inside is None or is_stopped(pid) or filters_calls(pid):  # it could not answer, or must not
            return None
        try:
            return inside.store(rows)
        except StrobeError as error:  # stopped by a signal, held by a debugger, or between fork and exec
            log.warning("session %s: the agent did not write: %s", self._session.id, error)
            return None

    def _note(self, results: Sequence[WriteResult]) -> None:
        """Puts what was written into the timeline."""
        written = [result for result in results if result.error is None]
        if not written:
            return
        values = {result.target: text.plain(result.value) for result in written}
        previous = {result.target: text.plain(result.previous) for result in written}
        try:
            self._session.add_event(snapshots.EVENT_TYPE, snapshots.dump(values, previous=previous))
        except StrobeError as error:  # it has ended since: what it had no longer matters
            log.info("session %s: a write is not in the timeline: %s", self._session.id, error)


def _reason(error: int) -> str:
    if error == 0:
        return ""
    return _REASONS["refused"] if error == errno.EFAULT else os.strerror(error)
