"""One session's events: the segment and the store together, by time."""

from __future__ import annotations

import threading
from pathlib import Path

from strobe.model import Event, EventFilter, EventPage, FunctionLoss, GroupBy, Loss, Totals
from strobe.timeline import sql
from strobe.timeline.absence import absence_of
from strobe.timeline.moments import NUMBER_MAX, event_id, host_number
from strobe.timeline.pages import first_events, page_of
from strobe.timeline.reader import SessionReader
from strobe.timeline.selection import check_page, select
from strobe.timeline.store import Store
from strobe.timeline.totals import function_losses, totals_of

# A thread may be interrupted between reading the clock and publishing its record. Who pages by cursor would never see
# such a record once later ones were given out, so these reads end at the moment they were asked for and begin a little
# later.
SETTLE_S = 0.005


class Timeline:
    """Answers from one session, running or kept. Its methods may be called from any thread."""

    def __init__(self, store: Store, session_id: str, segment_path: Path) -> None:
        self._reader = SessionReader(store, session_id, segment_path)

    def close(self) -> None:
        self._reader.close()

    def query(self, wanted: EventFilter) -> EventPage:
        """A page of the events that the filter selects, by time.

        Raises `bad_value`, `bad_regex`, `bad_cursor`, `events_unreadable`.
        """
        check_page(wanted)
        until = self._settled_number() if wanted.after_event_id is not None else None
        self._reader.store.flush()
        with self._reader.lock:
            selection = select(self._reader, wanted, until)
            events, total = page_of(self._reader, selection, wanted.limit, min(wanted.offset, NUMBER_MAX))
            loss = self.loss()
            absence = absence_of(self._reader, wanted, selection, loss) if total == 0 else None
        more = wanted.offset + len(events) < total
        return EventPage(events, total, more, loss, self._pids(), absence)

    def totals(self, wanted: EventFilter, group_by: GroupBy) -> list[Totals]:
        """Totals of the calls that the filter selects, per group, most calls first; see totals.py for what is exact."""
        return totals_of(self._reader, wanted, group_by)

    def loss(self) -> Loss:
        counts = self._reader.segment.loss()
        until_ns = counts["evicted_until_ns"]
        return Loss(
            evicted=counts["evicted"],
            evicted_until_ns=until_ns if until_ns >= 0 else None,
            sampled_out=counts["sampled_out"],
            lost=counts["lost_no_thread"] + counts["lost_reentrant"] + counts["lost_no_chunk"],
        )

    def function_losses(self) -> list[FunctionLoss]:
        """Per function what is missing of its enters: kept = calls - evicted - sampled_out - lost."""
        return function_losses(self._reader)

    def tail(self, after: int, limit: int = 10_000) -> list[Event]:
        """Up to `limit` events with a number above `after`, by time. Asked again and again it gives each event once."""
        until = self._settled_number()
        self._reader.store.flush()
        wanted = EventFilter(after_event_id=event_id(self._reader.session_id, max(0, after)))
        with self._reader.lock:
            return first_events(self._reader, select(self._reader, wanted, until), limit)

    def cursor(self) -> int:
        """Event number of this moment: `tail(cursor())` gives what comes later."""
        segment = self._reader.segment
        return host_number(segment.moment(segment.now_ticks()))

    def moment(self) -> tuple[int, int]:
        """Event number of this moment, and ns since session start."""
        number = self.cursor()
        return number, self.moment_ns(number)

    def moment_ns(self, number: int) -> int:
        """When the event with this number was, in ns since session start."""
        return self._reader.segment.to_ns(self._reader.segment.ticks_of(number))

    def name_at(self, address: int) -> str | None:
        """The traced function that begins there."""
        return self._reader.code_names().get(address)

    def sql(self, statement: str) -> tuple[list[str], list[tuple[object, ...]]]:
        """Columns and rows of a read-only statement over the view `events`. Raises `bad_sql`."""
        self._reader.store.flush()
        return sql.run(self._reader, statement)

    def _settled_number(self) -> int | None:
        """Events up to this number are complete when this returns; None where nothing is written any more."""
        if self._reader.record().status != "running":
            return None
        now = self.cursor()
        threading.Event().wait(SETTLE_S)
        return now

    def _pids(self) -> list[int]:
        return sorted({thread.pid for thread in self._reader.threads().values()} | {self._reader.record().pid} - {0})
