"""Events that the host makes (output lines, and what else it sees), on their way into strobe.db.

They arrive in bursts and are written by one thread, many in a transaction, at most 50 ms later. Whoever reads calls
`flush` first, so within a process nothing is ever missing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

import apsw

from strobe.timeline.moments import LANE_BITS
from strobe.timeline.schema import write_transaction

WRITE_DELAY_S = 0.05
BATCH_ROWS = 20_000
QUEUE_BYTES = 64 << 20  # beyond it `put` waits for the disk: nothing is lost, and memory stays bounded
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
    """Writes host events in batches. `put` returns at once unless the disk is far behind."""

    def __init__(self, connection: apsw.Connection, lock: threading.RLock) -> None:
        self._connection = connection
        self._connection_lock = lock
        self._changed = threading.Condition()
        self._waiting: list[HostEvent] = []
        self._waiting_bytes = 0
        self._put_count = 0
        self._written_count = 0
        self._flush_wanted = 0  # write at once until so many are written
        self._closing = False
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def put(self, events: Sequence[HostEvent]) -> None:
        """Hands in events of which the numbers grow. Raises what the database raised, if it did."""
        with self._changed:
            self._raise_error()
            if self._closing:
                raise RuntimeError("the store is closed")
            self._changed.wait_for(lambda: self._waiting_bytes < QUEUE_BYTES or self._error is not None)
            self._waiting.extend(events)
            self._waiting_bytes += sum(len(event.text) + _ROW_BYTES for event in events)
            self._put_count += len(events)
            self._start()
            self._changed.notify_all()

    def flush(self) -> None:
        with self._changed:
            self._flush_wanted = target = self._put_count
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._written_count >= target or self._error is not None)
            self._raise_error()

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            thread = self._thread
        if thread:
            thread.join()
        self._raise_error()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="strobe-host-events", daemon=True)
            self._thread.start()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _hurry(self) -> bool:
        return self._closing or self._flush_wanted > self._written_count or self._waiting_bytes > QUEUE_BYTES // 2

    def _run(self) -> None:
        while batch := self._next_batch():
            try:
                self._write(batch)
            except Exception as error:  # handed to whoever calls put or flush next
                with self._changed:
                    self._error = error
                    self._changed.notify_all()
                return

    def _next_batch(self) -> list[HostEvent]:
        """Waits for something to write, then up to the delay for more; empty when closing and all is written."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            self._changed.wait_for(self._hurry, timeout=WRITE_DELAY_S)
            batch = self._waiting[:BATCH_ROWS]
            del self._waiting[:BATCH_ROWS]
            return batch

    def _write(self, batch: list[HostEvent]) -> None:
        with self._connection_lock:
            try:
                with write_transaction(self._connection):
                    self._connection.executemany(_INSERT, batch)
            except apsw.ConstraintError:  # another process has added an event of the same moment
                with write_transaction(self._connection):
                    for event in batch:
                        insert_event(self._connection, event)
        with self._changed:
            self._written_count += len(batch)
            self._waiting_bytes -= sum(len(event.text) + _ROW_BYTES for event in batch)
            self._changed.notify_all()


def insert_event(connection: apsw.Connection, event: HostEvent) -> int:
    """Inserts one event, a moment later where its number is taken; the number it got. Within a transaction."""
    while True:
        connection.execute(_INSERT_FREE, event)
        if connection.changes():
            return event.number
        event = event._replace(number=event.number + (1 << LANE_BITS))
