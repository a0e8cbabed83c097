"""Events that the host makes (output lines, and what else it sees), on their way into strobe.db.

They arrive in bursts and are written by one thread, many in a transaction, at most 50 ms later. Whoever reads calls
`flush` first, so within a process nothing is ever missing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

import apsw

from strobe import _abi, threads
from strobe.timeline.schema import BUSY_TIMEOUT_MS, database_reason, write_transaction

log = logging.getLogger(__name__)

WRITE_DELAY_S = 0.05
BATCH_ROWS = 20_000
QUEUE_BYTES = 64 << 20  # beyond it `put` waits for the disk, unless that fails
ATTEMPT_MS = 200  # an attempt waits so long for another process that is writing
RETRY_S = 0.3
BUSY_S = 5.0
CLOSE_S = 2.0
CLOSE_RETRY_S = 0.1
_ROW_BYTES = 200
_INSERT = "insert into host_events values (?,?,?,?,?,?,?)"
_INSERT_FREE = "insert or ignore into host_events values (?,?,?,?,?,?,?)"


class HostEvent(NamedTuple):
    """A row of host_events. `session`: its key; `number`: of moments.host_number; `text`: bytes as they came."""

    session: int
    number: int
    event_type: str
    text: bytes
    pid: int
    thread_id: int = 0
    thread_name: str = ""


class HostEventQueue:
    """Writes host events in batches, and changes of the database that could not be made at once.

    What cannot be written stays here and is tried again, as long as the store is open: a full disk gets room again, a
    lock is released. Meanwhile nobody waits for it: `flush` returns after a failed attempt, and `unwritten` says what
    is missing and why. Only what does not fit into memory then is dropped, and counted.
    """

    def __init__(self, connection: apsw.Connection, lock: threading.RLock) -> None:
        self._connection = connection
        self._connection_lock = lock
        self._changed = threading.Condition()
        self._waiting: list[HostEvent] = []
        self._waiting_bytes = 0
        self._put_count = 0
        self._settled_count = 0  # written, dropped or discarded
        self._flush_wanted = 0  # write at once until so many are settled
        self._deferred: list[tuple[int, str, tuple[object, ...]]] = []  # session, statement, values
        self._attempts = 0  # begun, and the latest of them that has failed
        self._failed_attempt = 0
        self._is_busy = False  # so it failed because another process was writing
        self._problem: str | None = None  # why the last attempt failed
        self._dropped: dict[int, int] = {}  # by session
        self._closing = False
        self._give_up_s = 0.0
        self._thread: threading.Thread | None = None

    def wait_for_room(self) -> None:
        """Where the disk is far behind. To be called before events get their numbers: who pages by number passes on
        beyond those that are not handed in yet."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._waiting_bytes < QUEUE_BYTES or self._problem is not None or self._closing
            )

    def put(self, events: Sequence[HostEvent]) -> None:
        """Hands in events of which the numbers grow. Never waits."""
        with self._changed:
            if self._closing:
                raise RuntimeError("the store is closed")
            if self._waiting_bytes >= QUEUE_BYTES and self._problem is not None:
                for event in events:
                    self._dropped[event.session] = self._dropped.get(event.session, 0) + 1
                return
            self._waiting.extend(events)
            self._waiting_bytes += _bytes_of(events)
            self._put_count += len(events)
            self._start()
            self._changed.notify_all()

    @property
    def has_deferred(self) -> bool:
        """Whether a change waits: a later one must wait as well, or it would be made before."""
        with self._changed:
            return bool(self._deferred)

    def unmade_changes(self, session: int) -> str:
        """Why changes of a session wait; "" where none does."""
        with self._changed:
            waits = any(key == session for key, _, _ in self._deferred)
            return (self._problem or "they wait for the database") if waits else ""

    def defer(self, session: int, statement: str, values: tuple[object, ...]) -> None:
        """A change of the database that has failed: made as soon as that is possible."""
        with self._changed:
            self._deferred.append((session, statement, values))
            self._put_count += 1
            self._start()
            self._changed.notify_all()

    def flush(self) -> None:
        """Returns when all that was handed in before is written, or an attempt that began after now has failed.

        Another process that is writing is waited for, up to BUSY_S.
        """
        deadline = time.monotonic() + BUSY_S
        with self._changed:
            self._flush_wanted = target = self._put_count
            attempts = self._attempts
            if self._waiting or self._deferred:
                self._start()
            self._changed.notify_all()

            def is_over() -> bool:
                if self._settled_count >= target:
                    return True
                failed = self._failed_attempt > attempts
                return failed and (not self._is_busy or time.monotonic() > deadline)

            self._changed.wait_for(is_over)

    def unwritten(self, session: int) -> tuple[int, str]:
        """How many events and changes of a session are missing from the database, and why; (0, "") where none has
        failed."""
        with self._changed:
            dropped = self._dropped.get(session, 0)
            if self._problem is None and not dropped:
                return 0, ""
            waiting = 0
            if self._problem is not None:
                waiting = sum(event.session == session for event in self._waiting)
                waiting += sum(key == session for key, _, _ in self._deferred)
            return waiting + dropped, self._problem or "it could not be written for a while"

    def discard(self, session: int) -> None:
        """Forgets the events of a session that is deleted. The caller holds the connection's lock."""
        with self._changed:
            kept = [event for event in self._waiting if event.session != session]
            deferred = [change for change in self._deferred if change[0] != session]
            self._settled_count += len(self._waiting) - len(kept) + len(self._deferred) - len(deferred)
            self._waiting, self._deferred = kept, deferred
            self._waiting_bytes = _bytes_of(kept)
            self._dropped.pop(session, None)
            self._changed.notify_all()

    def close(self) -> None:
        """Writes what is left, with CLOSE_S for further attempts where the first fails; the rest is lost and logged."""
        with self._changed:
            self._closing = True
            self._give_up_s = time.monotonic() + CLOSE_S
            self._changed.notify_all()
            thread = self._thread
        if thread:
            thread.join()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threads.start("strobe-host-events", self._run, self._stopped)

    def _hurry(self) -> bool:
        return self._closing or self._flush_wanted > self._settled_count or self._waiting_bytes > QUEUE_BYTES // 2

    def _run(self) -> None:
        while self._wait_for_work():
            try:
                self._write_batch()
            except Exception as error:  # whatever it is: the batch is still there
                self._fail(error)
                if not self._wait_to_retry():
                    return

    def _wait_for_work(self) -> bool:
        """Waits for something to write, then up to the delay for more; False when closing and all is written."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._deferred or self._closing)
            self._changed.wait_for(self._hurry, timeout=WRITE_DELAY_S)
            return bool(self._waiting or self._deferred) or not self._closing

    def _write_batch(self) -> None:
        with self._connection_lock:
            with self._changed:
                batch = self._waiting[:BATCH_ROWS]
                deferred = self._deferred[:]
                self._attempts += 1
            # no longer than that: whoever only reads the database waits for this lock meanwhile
            self._connection.set_busy_timeout(ATTEMPT_MS)
            try:
                self._write(batch, deferred)
            finally:
                self._connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            with self._changed:
                del self._waiting[: len(batch)], self._deferred[: len(deferred)]
                self._waiting_bytes -= _bytes_of(batch)
                self._settled_count += len(batch) + len(deferred)
                if self._problem is not None:
                    log.warning("host events are written again")
                self._problem = None
                self._changed.notify_all()

    def _write(self, batch: list[HostEvent], deferred: Sequence[tuple[int, str, tuple[object, ...]]]) -> None:
        try:
            with write_transaction(self._connection):
                for _, statement, values in deferred:
                    self._connection.execute(statement, values)
                self._connection.executemany(_INSERT, batch)
        except apsw.ConstraintError:  # another process has added an event of the same moment
            with write_transaction(self._connection):
                for _, statement, values in deferred:
                    self._connection.execute(statement, values)
                for event in batch:
                    insert_event(self._connection, event)

    def _fail(self, error: Exception) -> None:
        with self._changed:
            if self._problem is None:
                log.error("host events cannot be written, and are kept: %s", error)
            self._problem = database_reason(error)
            self._is_busy = isinstance(error, apsw.BusyError)
            self._failed_attempt = self._attempts
            self._changed.notify_all()

    def _wait_to_retry(self) -> bool:
        """False where the store is closed, and the time for that has passed."""
        with self._changed:
            wanted = self._flush_wanted
            self._changed.wait_for(lambda: self._closing or self._flush_wanted > wanted, timeout=RETRY_S)
            if not self._closing:
                return True
            if time.monotonic() >= self._give_up_s:
                lost = (len(self._waiting), len(self._deferred), self._problem)
                log.error("%d host events and %d changes of the database are lost: %s", *lost)
                self._settled_count += len(self._waiting) + len(self._deferred)
                self._waiting, self._deferred = [], []
                self._changed.notify_all()
                return False
            self._changed.wait(CLOSE_RETRY_S)
            return True

    def _stopped(self, error: BaseException) -> None:
        """The thread itself has failed: nobody waits for it, and the next event starts another."""
        with self._changed:
            self._thread = None
            self._problem = threads.reason(error)
            self._is_busy = False
            self._attempts += 1
            self._failed_attempt = self._attempts
            self._changed.notify_all()


def _bytes_of(events: Sequence[HostEvent]) -> int:
    return sum(len(event.text) + _ROW_BYTES for event in events)


def insert_event(connection: apsw.Connection, event: HostEvent) -> int:
    """Inserts one event, a moment later where its number is taken; the number it got. Within a transaction."""
    while True:
        connection.execute(_INSERT_FREE, event)
        if connection.changes():
            return event.number
        event = event._replace(number=event.number + (1 << _abi.LANE_BITS))
