"""Polls: variables that are read again and again, each tick an event of the session's timeline.

Nothing runs in the program and nothing is stopped: its memory is read from outside, by one thread for all polls of a
session. Ticks keep to the clock: the nth comes n intervals after the first. One that is late by an interval or more is
left out and counted, so that a machine that stood still for a while does not catch up with a burst.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from strobe import threads
from strobe.dataclass import dataclass, field, replace
from strobe.errors import StrobeError, failure
from strobe.limits import POLL_DURATION_MS, POLL_INTERVAL_MS, POLLS
from strobe.timeline import snapshots
from strobe.timeline.polls import PollEnd, PollRecord
from strobe.timeline.query import Timeline

if TYPE_CHECKING:  # only where something is polled
    from strobe.values.reading import ReadResult, ReadTarget

log = logging.getLogger(__name__)


class Source(Protocol):
    """What is polled: a RepeatedRead."""

    def read(self) -> list[ReadResult]:
        """A result for each target, all read at one moment."""


class Listener(Protocol):
    """Called for each sample; it must not wait."""

    def sample(self, number: int, results: list[ReadResult]) -> None:
        """A tick: the number of its event, and a result for each target that is polled."""

    def end(self) -> None:
        """The poll has ended: no sample comes any more."""


class Journal(Protocol):
    """Where it is recorded: a session."""

    timeline: Timeline

    def add_event(self, event_type: str, text: str) -> int:
        """The number of a new event of the host."""

    def note_poll(self, poll: PollRecord) -> None:
        """Keeps what is known of a poll now."""

    def poll_end(self) -> PollEnd:
        """Why a poll ends that cannot go on."""


@dataclass(eq=False)
class Poll:
    """One poll. `record` is what is known of it now; `first` are the results that it began with, of all targets."""

    record: PollRecord
    first: list[ReadResult]
    source: Source
    labels: Sequence[str]
    listener: Listener | None
    stop: Callable[[], None]
    start_s: float = 0.0
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def interval_s(self) -> float:
        return self.record.interval_ms / 1000

    @property
    def due_s(self) -> float:
        return self.start_s + (self.record.samples + self.record.missed) * self.interval_s


def expected_samples(interval_ms: int, duration_ms: int) -> int:
    """The first comes at once, the others while the duration lasts."""
    return -(-duration_ms // interval_ms)


def check_bounds(interval_ms: int, duration_ms: int) -> None:
    """Raises VALIDATION_ERROR."""
    for name, value, low, high in (
        ("intervalMs", interval_ms, *POLL_INTERVAL_MS),
        ("durationMs", duration_ms, *POLL_DURATION_MS),
    ):
        if not low <= value <= high:
            valid = f"{low} to {high}"
            raise failure("bad_value", field=name, value=value, reason="it is out of range", valid=valid)


class Polls:
    """Those of one session. For any thread."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._changed = threading.Condition()
        self._active: list[Poll] = []
        self._thread: threading.Thread | None = None

    def begin(
        self,
        source: Source,
        targets: Sequence[ReadTarget],
        first: list[ReadResult],
        interval_ms: int,
        expected: int,
        listener: Listener | None,
    ) -> Poll:
        """Polls `targets`, which `source` reads, from this moment on. Raises too_many_polls."""
        from strobe.session.variables.samples import labels_of

        with self._changed:
            if len(self._active) >= POLLS:
                raise failure("too_many_polls", count=POLLS)
            number, start_ns = self._journal.timeline.moment()
            labels = labels_of(targets)
            record = PollRecord(number, tuple(dict.fromkeys(labels)), interval_ms, expected, start_ns)
            poll = Poll(record, first, source, labels, listener, lambda: self.stop("stopped", [poll]))
            poll.start_s = time.monotonic()
            if not expected:
                poll.over.set()
                return poll
            self._journal.note_poll(record)
            self._active.append(poll)
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threads.start("strobe-polls", self._run, self._stopped)
        return poll

    def records(self) -> list[PollRecord]:
        """Those that go on, as they are now."""
        with self._changed:
            return [poll.record for poll in self._active]

    def stop(self, ended_by: PollEnd, polls: Sequence[Poll] | None = None) -> None:
        """Ends some, or all; no event of them comes after this."""
        with self._changed:
            for poll in [poll for poll in self._active if polls is None or poll in polls]:
                self._end(poll, ended_by)

    def _run(self) -> None:
        while (poll := self._next()) is not None:
            try:
                self._tick(poll)
            except (ProcessLookupError, StrobeError) as error:  # the program or the session has ended
                log.info("a poll ends: %s", error)
                self.stop(self._journal.poll_end(), [poll])
            except Exception:
                log.exception("a poll has failed")
                self.stop("failed", [poll])

    def _stopped(self, _: BaseException) -> None:
        with self._changed:
            self._thread = None
        self.stop("failed")

    def _next(self) -> Poll | None:
        """Waits until a poll is due; None where there is none left, and the thread may go."""
        with self._changed:
            while self._active:
                poll = min(self._active, key=lambda one: one.due_s)
                left = poll.due_s - time.monotonic()
                if left <= 0:
                    return poll
                self._changed.wait(left)
            self._thread = None
            return None

    def _tick(self, poll: Poll) -> None:
        from strobe.session.variables.samples import document

        late = int((time.monotonic() - poll.due_s) / poll.interval_s)
        left = poll.record.expected - poll.record.samples - poll.record.missed
        if late >= left:
            with self._changed:
                self._miss(poll, left)
            return
        results = _read(poll)
        text = document(poll.labels, results)
        with self._changed:
            if poll.over.is_set():
                return
            number = self._journal.add_event(snapshots.EVENT_TYPE, text)
            poll.record = replace(poll.record, samples=poll.record.samples + 1)
            if poll.listener is not None:
                poll.listener.sample(number, results)
            self._miss(poll, late)

    def _miss(self, poll: Poll, count: int) -> None:
        """Leaves out ticks, and ends the poll when there are no more."""
        poll.record = replace(poll.record, missed=poll.record.missed + count)
        if poll.record.samples + poll.record.missed >= poll.record.expected:
            self._end(poll, "duration")

    def _end(self, poll: Poll, ended_by: PollEnd) -> None:
        if poll.over.is_set():
            return
        self._active.remove(poll)
        self._changed.notify_all()
        poll.record = replace(poll.record, ended_by=ended_by)
        try:
            poll.record = replace(poll.record, end_ns=self._journal.timeline.moment()[1])
            self._journal.note_poll(poll.record)
        except StrobeError as error:  # the session is deleted
            log.info("the end of a poll is not noted: %s", error)
        finally:
            poll.over.set()  # who waited for that reads the record, without a lock
        if poll.listener is not None:
            poll.listener.end()


def _read(poll: Poll) -> list[ReadResult]:
    """Errors of this tick alone where nothing can be read, as when the process has become a program without symbols."""
    from strobe.values.reading import ReadResult

    try:
        return poll.source.read()
    except StrobeError as error:
        return [ReadResult(label, error=error) for label in poll.labels]
