"""Writes of variables and memory of a session's program, while it runs; each is an event of the timeline."""

from __future__ import annotations

import errno
import logging
import os
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

from strobe import _core
from strobe.errors import StrobeError
from strobe.session.reads import Readable
from strobe.timeline import snapshots
from strobe.values.decode import text
from strobe.values.write.changes import Change
from strobe.values.write.writing import WriteResult, WriteTarget

log = logging.getLogger(__name__)

Rows = Sequence[tuple[int, bytes, bytes]]  # address, bytes, mask


class Writable(Readable):
    """A session whose program's variables can be written while it runs, whichever process observes it."""

    def write(self, targets: Sequence[WriteTarget]) -> list[WriteResult]:
        """Checks all values, then writes them; an error for each that fails, of which nothing is written.

        From the process that observes the program its agent writes each aligned word atomically; from others the
        kernel does, which does not promise that (WriteResult.is_atomic). Raises process_exited, read_refused,
        replaced_on_disk.
        """
        reads = self._reads()
        try:
            results = reads.write(targets, lambda changes: self._store_changes(reads.pid, changes))
        except ProcessLookupError as error:
            raise self._gone() from error
        self._tell(results)
        return results

    @abstractmethod
    def add_event(self, event_type: str, text: str) -> int: ...

    def _store_inside(self, rows: Rows) -> list[str] | None:
        """By the agent, where it is ours and answers; None where it does not."""
        return None

    def _store_changes(self, pid: int, changes: Sequence[Change]) -> tuple[list[str], bool]:
        rows = [(change.address, change.data, change.mask) for change in changes]
        answers = self._store_inside(rows)
        if answers is not None:
            return [_REASONS.get(answer, answer) for answer in answers], True
        errors = _core.write_memory(pid, rows)
        if errno.ESRCH in errors:
            raise ProcessLookupError(f"process {pid}")
        if errno.EPERM in errors and not any(error == 0 for error in errors):
            raise PermissionError(errno.EPERM, "process_vm_writev")
        return [_reason(error) for error in errors], False

    def _tell(self, results: Sequence[WriteResult]) -> None:
        written = [result for result in results if result.error is None]
        if not written:
            return
        values = {result.target: text.plain(result.value) for result in written}
        previous = {result.target: text.plain(result.previous) for result in written}
        try:
            self.add_event(snapshots.EVENT_TYPE, snapshots.dump(values, previous=previous))
        except StrobeError as error:  # it has ended since: what it had no longer matters
            log.info("session %s: a write is not in the timeline: %s", self.id, error)


_REASONS = {
    "refused": "the kernel says that its memory may not be written any more",
    "late": "the program was stopped, and did not answer in time",
}


def is_stopped(pid: int) -> bool:
    """By a signal or a debugger (proc(5), stat, field 3)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[:1] in (["T"], ["t"])


def _reason(error: int) -> str:
    if error == 0:
        return ""
    return _REASONS["refused"] if error == errno.EFAULT else os.strerror(error)
