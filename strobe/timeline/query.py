"""One session's events: the segment and the store together, by time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from strobe import _core
from strobe.dataclass import replace
from strobe.errors import StrobeError, failure
from strobe.limits import SQL_SECONDS
from strobe.model import Event, EventFilter, EventPage, EventType, FunctionSymbol, GroupBy, Loss, TextMatch
from strobe.timeline.absence import absence_of, doubts_of, names_in_doubt
from strobe.timeline.coverage import coverage_of, last_gap, window_of
from strobe.timeline.events import first_events, newest_of, page_of
from strobe.timeline.moments import NUMBER_MAX, event_id, event_number, host_number
from strobe.timeline.reader import SessionReader
from strobe.timeline.selection import Selection, check_page, number_bounds, select
from strobe.timeline.store import Load, Store
from strobe.timeline.totals import (
    FunctionLoss,
    ProbeTotals,
    Totals,
    calls_without_events,
    function_losses,
    probe_totals,
    totals_of,
    unrecorded,
)

if TYPE_CHECKING:
    from strobe.timeline.sql import More

# A thread may be interrupted between reading the clock and publishing its record. Who pages by cursor would never see
# such a record once later ones were given out, so these reads end at the moment they were asked for, or at that of the
# oldest record in the making (`written_until`), and begin a little later.
SETTLE_S = 0.005
# A handler that has interrupted a record may wait for ever: all that comes later is then given out this late.
MOST_LAG_S = 10.0


def _seconds(segment: _core.Segment, ticks: int) -> str:
    return f"{segment.to_ns(ticks) / 1e9:.3f} s"


def _nothing() -> None:
    """Nobody here can look at the program."""


def _nothing_of(_: EventFilter) -> None:
    """Nobody here captures the output."""


def _same(moment: int) -> int:
    """Nobody here can see what threads are in the middle of."""
    return moment


class Timeline:
    """Answers from one session, running or kept. Its methods may be called from any thread."""

    def __init__(
        self,
        store: Store,
        session_id: str,
        segment_path: Path,
        written_until: Callable[[int], int] = _same,
        confirm: Callable[[], None] = _nothing,
        settle_output: Callable[[EventFilter], None] = _nothing_of,
    ) -> None:
        """`written_until`, `settle_output`: as Session has them. `confirm`: as Session.confirm, called before it is
        said that there are no events."""
        self._reader = SessionReader(store, session_id, segment_path)
        self._written_until = written_until
        self._confirm = confirm
        self._settle_output = settle_output

    def close(self) -> None:
        """Closes the database and the segment."""
        self._reader.close()

    def query(self, wanted: EventFilter) -> EventPage:
        """A page of the events that the filter selects, by time.

        Raises `bad_value`, `bad_regex`, `bad_cursor`, `events_unreadable`.
        """
        check_page(wanted)
        _check_type(wanted)
        page, selection = self._page(wanted)
        if page.total_count:
            return page
        wanted = _fixed(wanted, selection)
        self._settle_output(wanted)
        moment = self._settled_moment()
        with self._reader.lock:  # no statement about absence is older than the page that it is about
            page, selection = self._page(wanted)
            if page.total_count:
                return page
            return replace(page, absence=absence_of(self._reader, wanted, selection, page.loss, moment))

    def _page(self, wanted: EventFilter) -> tuple[EventPage, Selection]:
        until = self._settled_number() if wanted.after_event_id is not None or wanted.newest_first else None
        self._reader.store.flush()
        with self._reader.lock:
            selection = select(self._reader, wanted, until)
            if wanted.newest_first:
                last = min(number_bounds(self._reader, wanted, until)[1], self._reader.newest_number())
                events, total = newest_of(self._reader, selection, wanted.limit, min(wanted.offset, NUMBER_MAX), last)
                events.reverse()
            else:
                events, total = page_of(self._reader, selection, wanted.limit, min(wanted.offset, NUMBER_MAX))
            loss = self.loss()
            unrecorded = self._callers_unrecorded(wanted)
            self._reader.check_whole()
        more = wanted.offset + len(events) < total
        return EventPage(events, total, more, loss, self._pids(), callers_unrecorded=unrecorded), selection

    def callers_unrecorded(self, wanted: EventFilter) -> int:
        """Calls of what the filter's `caller` names that have no event; 0 without it. Raises as `query`."""
        with self._reader.lock:
            return self._callers_unrecorded(wanted)

    def _callers_unrecorded(self, wanted: EventFilter) -> int:
        if wanted.caller is None:
            return 0
        asked = EventFilter(event_type="function_enter", function=wanted.caller)
        return calls_without_events(self._reader, select(self._reader, asked).functions or ())

    def reading(self, *denied: EventFilter) -> tuple[SessionReader, int]:
        """For questions that look at events one by one: the reader, and the number up to which events are complete.
        `denied`: of what it may be said that there is none."""
        for wanted in denied:
            self._settle_output(wanted)
        until = self._settled_number()
        self._reader.store.flush()
        with self._reader.lock:
            newest = self._reader.newest_number()
        return self._reader, newest if until is None else until

    @property
    def pids(self) -> list[int]:
        """Processes whose calls are recorded."""
        return self._pids()

    def totals(self, wanted: EventFilter, group_by: GroupBy) -> list[Totals]:
        """Totals of the calls that the filter selects, per group, most calls first; see totals.py for what is exact."""
        found = totals_of(self._reader, wanted, group_by)
        self._reader.check_whole()
        return found

    def absence(self, wanted: EventFilter) -> str:
        """What is known about the absence of calls that the filter selects. Raises as `query`."""
        wanted = _fixed(wanted, select(self._reader, wanted))
        moment = self._settled_moment()
        with self._reader.lock:
            found = absence_of(self._reader, wanted, select(self._reader, wanted), self.loss(), moment)
            self._reader.check_whole()
            return found

    def doubts(self, wanted: EventFilter) -> list[str]:
        """Why there may have been more than the events that the filter selects, in sentences. Raises as `query`."""
        wanted = _fixed(wanted, select(self._reader, wanted))
        moment = self._settled_moment()
        with self._reader.lock:
            found = doubts_of(self._reader, wanted, select(self._reader, wanted), self.loss(), moment)
            self._reader.check_whole()
            return found

    def not_called(self, names: Sequence[str]) -> tuple[list[str], list[str]]:
        """Of traced functions that have no call in the totals: those that were not called, and those of which that is
        not certain, as `absence` says of each. Raises as `query`."""
        with self._reader.lock:
            doubtful = names_in_doubt(self._reader, names)
        sure = [name for name in names if name not in doubtful]
        asked = EventFilter(event_type="function_enter", function=TextMatch(one_of=frozenset(sure)))
        if sure and self.doubts(asked):
            sure = []
        if sure:  # the program runs on: not those that were called first while it was asked for doubts
            called = {item.key for item in self.totals(asked, "function")}
            sure = [name for name in sure if name not in called]
        certain = set(sure)
        return sure, [name for name in names if name not in certain]

    def last_gap(self, wanted: EventFilter) -> tuple[int, int] | None:
        """The last time, in ns since session start, in which calls of one of the functions that the filter selects were
        not recorded any more, as it was not traced. Raises as `query`."""
        moment = self._settled_moment()
        with self._reader.lock:
            selection = select(self._reader, wanted)
            window = window_of(self._reader, selection, moment)
            found = last_gap(coverage_of(self._reader, selection, window), window)
            to_ns = self._reader.segment.to_ns
            return None if found is None else (to_ns(found[0]), to_ns(found[1]))

    def partly_recorded(self, wanted: EventFilter) -> list[str]:
        """Names of functions and probes that the filter selects and that were not recorded for the whole window. Raises
        as `query`."""
        moment = self._settled_moment()
        with self._reader.lock:
            selection = select(self._reader, wanted)
            coverage = coverage_of(self._reader, selection, window_of(self._reader, selection, moment))
            functions = self._reader.functions()
            return sorted({functions[item].name for item in coverage.gaps if item in functions})

    def evicted_in(self, wanted: EventFilter) -> bool:
        """Whether events that the filter selects by their time may have been evicted. Raises as `query`."""
        until_ns = self.loss().evicted_until_ns
        if not self.loss().evicted:
            return False
        with self._reader.lock:
            selection = select(self._reader, wanted)
        begin = selection.from_ns or 0
        if wanted.from_event is not None:
            number = event_number(self._reader.session_id, wanted.from_event)
            segment = self._reader.segment
            begin = max(begin, segment.to_ns(segment.ticks_of(number)))
        return until_ns is None or begin <= until_ns

    def _settled_moment(self) -> int:
        """Ticks of now; calls up to then are recorded, and the hooks looked at, when this returns. Earlier where a
        thread is in the middle of a record since then."""
        moment = self._reader.segment.now_ticks()
        self._confirm()
        return self._settled(moment)

    def loss(self) -> Loss:
        """What is missing from the events. Raises events_unreadable where the segment was truncated."""
        counts = self._reader.segment.loss()
        self._reader.check_whole()
        until_ns = counts["evicted_until_ns"]
        uncounted = sum(counts[f"lost_{cause}"] for cause in ("no_thread", "no_clock", "reentrant"))
        unwritten, reason = self._reader.store.unwritten(self._reader.key)
        return Loss(
            evicted=counts["evicted"],
            evicted_until_ns=until_ns if until_ns >= 0 else None,
            event_bytes=counts["event_bytes"],
            sampled_out=counts["sampled_out"],
            lost=uncounted + counts["lost_no_chunk"],
            uncounted=uncounted,
            in_no_total=uncounted + counts["lost_no_totals"],
            unwritten=unwritten,
            unwritten_reason=reason,
        )

    def own_limits(self) -> list[str]:
        """What the program, or a child of it, has done to be recorded less, one sentence each."""
        try:
            segment = self._reader.segment
        except StrobeError:  # it is gone, and with it what would be less
            return []
        found = []
        if ticks := segment.filtered_ticks:
            found.append(
                "The program, or a child of it, has set a filter of its system calls (seccomp), or tried to, at "
                f"{_seconds(segment, ticks)}, and the recorder makes none there from then on: scripts are not run, and "
                "no memory is read where the "
                "signals of faults may be blocked, nor by the recorder's portable form."
            )
        if ticks := segment.limited_ticks:
            found.append(
                "The program, or a child of it, limits its memory (RLIMIT_AS or RLIMIT_DATA) since "
                f"{_seconds(segment, ticks)}. The 2 GB of addresses that Strobe reserves count as well: "
                "allocations may fail that would succeed without it."
            )
        if ticks := segment.stopped_ticks:
            found.append(
                "The program, or a child of it, may not read the time stamp counter (PR_SET_TSC, or seccomp's strict "
                f"mode) since {_seconds(segment, ticks)}: its calls are not recorded from then on."
            )
        if calls := segment.loss()["lost_no_clock"]:
            found.append(
                f"A thread of the program had given up the time stamp counter (PR_SET_TSC) before: {calls} calls of it "
                "were not recorded."
            )
        return found

    @property
    def forked_children(self) -> int:
        """How many went on recording."""
        return self._reader.segment.forked_children

    def probe_totals(self) -> list[ProbeTotals]:
        """As totals.probe_totals."""
        return probe_totals(self._reader)

    def unrecorded(self, function_ids: Collection[int]) -> set[int]:
        """As totals.unrecorded."""
        return unrecorded(self._reader, function_ids)

    def function_losses(self) -> list[FunctionLoss]:
        """Per function what is missing of its enters: kept = calls - evicted - sampled_out - lost."""
        return function_losses(self._reader)

    def tail(self, after: int, limit: int = 10_000) -> list[Event]:
        """Up to `limit` events with a number above `after`, by time. Asked again and again it gives each event once."""
        until = self._settled_number()
        self._reader.store.flush()
        wanted = EventFilter(after_event_id=event_id(self._reader.session_id, max(0, after)))
        with self._reader.lock:
            events = first_events(self._reader, select(self._reader, wanted, until), limit)
            self._reader.check_whole()
            return events

    def first(self, wanted: EventFilter, after: int) -> tuple[Event | None, int]:
        """The first event that the filter selects with a number above `after`, and up to which number that was looked
        at: to ask again from there misses none. Raises as `query`."""
        until = self._settled_number()
        self._reader.store.flush()
        asked = replace(wanted, after_event_id=event_id(self._reader.session_id, max(0, after)))
        with self._reader.lock:
            selection = select(self._reader, asked, until)
            if selection.calls is not None:
                found = first_events(self._reader, selection, 1)
            else:
                found = page_of(self._reader, selection, 1, 0)[0]
            self._reader.check_whole()
        return (found[0] if found else None), max(after, until or after)

    def last(self, wanted: EventFilter, count: int) -> list[Event]:
        """The last `count` events that the filter selects, by time. Raises as `query`."""
        self._reader.store.flush()
        with self._reader.lock:
            until = self._reader.newest_number()
            events, _ = newest_of(self._reader, select(self._reader, wanted, until), count, 0, until)
            self._reader.check_whole()
            return events

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

    def name_at(self, address: int, timestamp_ns: int) -> str | None:
        """The traced function that began there at that moment."""
        return self._reader.code_names().at(self._reader.segment.ticks_from_ns(timestamp_ns))(address)

    def ticks_from_ns(self, timestamp_ns: int) -> int:
        """Of a time since session start."""
        return self._reader.segment.ticks_from_ns(timestamp_ns)

    def loads(self) -> Sequence[Load]:
        """When modules were in the process; the same object until that changes."""
        return self._reader.loads()

    def traced_names(self) -> list[str]:
        """Names of the functions whose calls are, or were, recorded."""
        functions = self._reader.functions()
        spans = self._reader.store.hook_spans(self._reader.session_id)
        return list(dict.fromkeys(functions[item].name for item in spans if _is_function(functions.get(item))))

    def sql(
        self, statement: str, timeout_s: float = SQL_SECONDS, more: More | None = None
    ) -> tuple[list[str], list[tuple[object, ...]]]:
        """Columns and rows of a read-only statement over the view `events`. `more`, and raises, as sql.run."""
        from strobe.timeline import sql

        self._reader.store.flush()
        found = sql.run(self._reader, statement, timeout_s, more)
        self._reader.check_whole()
        return found

    def _settled_number(self) -> int | None:
        """Events up to this number are complete when this returns, but for records that take longer than MOST_LAG_S;
        None where nothing is written any more."""
        if not self._is_written():
            return None
        segment = self._reader.segment
        now = segment.now_ticks()
        oldest = segment.ticks_from_ns(max(0, segment.to_ns(now) - int(MOST_LAG_S * 1e9)))
        return host_number(segment.moment(max(self._settled(now), oldest)))

    def _settled(self, moment: int) -> int:
        if not self._is_written():
            return moment
        threading.Event().wait(SETTLE_S)
        written = self._written_until(moment)
        return moment if written >= moment else max(0, written - (1 << self._reader.segment.number_shift))

    def _is_written(self) -> bool:
        return self._reader.record().status == "running"

    def _pids(self) -> list[int]:
        return sorted({thread.pid for thread in self._reader.threads().values()} | {self._reader.record().pid} - {0})


def _is_function(symbol: FunctionSymbol | None) -> bool:
    return symbol is not None and not symbol.is_probe


def _check_type(wanted: EventFilter) -> None:
    """Raises `bad_value` for a type of events that does not exist."""
    types = get_args(EventType)
    if wanted.event_type is not None and wanted.event_type not in types:
        kind, valid = wanted.event_type, ", ".join(types)
        raise failure("bad_value", field="eventType", value=kind, reason="there are no such events", valid=valid)


def _fixed(wanted: EventFilter, selection: Selection) -> EventFilter:
    """With times that no longer depend on the newest event."""
    if selection.to_ns is None or selection.to_ns < 0:
        return replace(wanted, time_from=selection.from_ns)
    return replace(wanted, time_from=selection.from_ns, time_to=selection.to_ns)
