"""A poll as an iterator: each sample as soon as it was taken."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Sequence
from typing import Any

from strobe.dataclass import dataclass
from strobe.errors import StrobeError
from strobe.session.session import Session
from strobe.session.variables.polls import Poll
from strobe.timeline.polls import PollEnd
from strobe.values.reading import ReadResult, ReadTarget


@dataclass(frozen=True, slots=True)
class Sample:
    """Variables at one moment, `timestamp_ns` since session start: values as `read` gives them, and what failed."""

    timestamp_ns: int
    values: dict[str, Any]
    errors: dict[str, StrobeError]

    def __getitem__(self, variable: str) -> Any:
        """The value. Raises the READ_FAILED of this moment where there is none."""
        if variable in self.errors:
            raise self.errors[variable]
        return self.values[variable]


class Polling(Iterator[Sample]):
    """Samples in order of time; the iterator waits for the next one, and ends with the poll.

    It is polled, and recorded in the timeline, whether anybody iterates or not. `stop` ends it early.
    """

    def __init__(self, session: Session, targets: Sequence[ReadTarget], interval_ms: int, duration_ms: int, depth: int):
        """Raises what Session.poll raises, and what is wrong with a target that can never be read. No target twice."""
        self._session = session
        self._waiting: queue.SimpleQueue[tuple[int, list[ReadResult]] | None] = queue.SimpleQueue()
        refused = session.reader.repeated(targets, depth).refused
        for error in refused.values():
            raise error
        self._poll: Poll = session.poll(targets, interval_ms, duration_ms, depth, self)
        self._names = [target.variable or target.text for target in targets]

    @property
    def expected(self) -> int:
        """How many samples there are when nothing ends it early."""
        return self._poll.record.expected

    @property
    def missed(self) -> int:
        """Samples that were left out so far, as the machine was too busy to take them in time."""
        return self._poll.record.missed

    @property
    def ended_by(self) -> PollEnd | None:
        """ "duration", "program" (it ended), "stopped"; None while it goes on."""
        return self._poll.record.ended_by

    def stop(self) -> None:
        """Ends the poll; the iteration ends after the samples that are there."""
        self._poll.stop()

    def __next__(self) -> Sample:
        found = self._waiting.get()
        if found is None:
            self._waiting.put(None)  # for who asks again
            raise StopIteration
        number, results = found
        named = list(zip(self._names, results, strict=True))
        values = {name: result.value for name, result in named if result.error is None}
        errors = {name: result.error for name, result in named if result.error is not None}
        return Sample(self._session.timeline.moment_ns(number), values, errors)

    # --- Listener, called by the thread that polls

    def sample(self, number: int, results: list[ReadResult]) -> None:
        """As Listener."""
        self._waiting.put((number, results))

    def end(self) -> None:
        """As Listener."""
        self._waiting.put(None)
