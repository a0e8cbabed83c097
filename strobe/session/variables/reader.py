"""`session.reader`: reads of variables and memory of the session's program."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from strobe.session.variables.observed import Observed
from strobe.session.variables.reads import Reads, RepeatedRead
from strobe.timeline import placement
from strobe.values.lookup.scope import Scope
from strobe.values.reading import ReadResult, ReadTarget


class VariableReader:
    """Of one session, whichever process observes its program. For any thread."""

    def __init__(self, session: Observed) -> None:
        self._session = session
        self._reads: Reads | None = None
        self._making = threading.Lock()

    def read(self, targets: Sequence[ReadTarget], depth: int = 1) -> list[ReadResult]:
        """Variables and memory at one moment; an error for each that fails.

        Raises process_exited, read_refused, replaced_on_disk.
        """
        try:
            return self.reads().read(targets, depth)
        except ProcessLookupError as error:
            raise self._session.gone() from error

    def repeated(self, targets: Sequence[ReadTarget], depth: int = 1) -> RepeatedRead:
        """Prepares reads of the same targets. Raises as `read`."""
        try:
            return RepeatedRead(self.reads(), targets, depth)
        except ProcessLookupError as error:
            raise self._session.gone() from error

    @contextmanager
    def scope(self) -> Iterator[Scope]:
        """What names mean now, for this thread alone. Raises as `read`, and ProcessLookupError."""
        with self.reads().scope() as found:
            yield found

    def reads(self) -> Reads:
        """Of the program's process. Raises process_exited, owned_elsewhere, still_starting."""
        record = self._session.record()
        if record.status != "running":
            raise self._session.not_here()
        with self._making:
            if self._reads is None:
                session = self._session
                self._reads = Reads(record.pid, session.resolver, record.project_root, session.inside)
            return self._reads

    def warnings(self) -> list[str]:
        """What is wrong with the project's descriptions of types, as the last read found."""
        return [] if self._reads is None else self._reads.warnings

    def keep_bytes(self, content: bytes) -> Path:
        """Puts what was read into a new file of the session's folder."""
        folder = placement.make_folder(self._session.record()) / "reads"
        folder.mkdir(mode=0o700, exist_ok=True)
        descriptor, path = tempfile.mkstemp(".bin", "", folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        return Path(path)
