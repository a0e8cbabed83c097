"""Looking at selected events one by one, for what only their values say: conditions over them, and what led to them.

Rows come by time, a batch at a time, so that other questions about the session are not held up for long.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from strobe import _abi
from strobe.dataclass import dataclass, field, replace
from strobe.model import RECORD_KINDS, RECORDED_EVENTS, EventFilter, TextMatch
from strobe.timeline.decode.captured import decode_return, words_of
from strobe.timeline.decode.compared import is_what_is_asked
from strobe.timeline.events import CALL_COLUMNS, HAS_MORE, HOST_COLUMNS
from strobe.timeline.moments import event_id, event_number
from strobe.timeline.reader import SessionReader
from strobe.timeline.selection import Conditions, select, text_test

BATCH_ROWS = 20_000
LOOKED_AT = 2_000  # rows that are looked at in any case, if that takes no longer than
LEAST_S = 1.0  # for which a look goes on even if it should be over
_NUMBER, _TIME, _KIND, _FUNCTION, _THREAD, _DEPTH, _DURATION, _WORDS, _FLAGS, _PARENT = 0, 1, 2, 3, 4, 6, 7, 9, 10, 11
Row = Sequence[Any]
Fails = Callable[[int, bytes], bool]


@dataclass(slots=True)
class Seen:
    """One event. `row`: of CALL_COLUMNS, or HOST_COLUMNS where `is_host`. Of a return `entry` is the row of the call's
    enter; `caller` the function id of who called. None where that is not known."""

    row: Row
    is_host: bool = False
    entry: Row | None = None
    caller: int | None = None

    @property
    def number(self) -> int:
        """Its number among the events, by time."""
        return int(self.row[_NUMBER])


@dataclass(slots=True)
class Tally:
    """How far a look has come. `failed`: events that were left out by `fails`; `stopped_at`: the last one's number
    where the time was over before the end."""

    deadline: float
    failed: int = 0
    stopped_at: int | None = None


@dataclass(slots=True)
class Progress:
    """What one look leaves behind for the next, which goes on where that has ended. `opened`: calls that have begun, by
    thread and depth; `until`: number up to which was looked, None before the first look, which begins at the start of
    the session; `is_whole`: whether the last look has come to its end."""

    opened: dict[tuple[int, int], Row] = field(default_factory=dict)
    until: int | None = None
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Sight:
    """What is looked at. `entries`: of returns those of the same calls; `callers`: by whom calls are made. `progress`:
    for who looks again and again. `fails`: whether a call with this function id and these words, of its entry, is known
    to be none of those asked for."""

    wanted: EventFilter
    entries: bool = False
    callers: bool = False
    fails: Fails | None = None
    progress: Progress | None = None


def seen(reader: SessionReader, sight: Sight, until: int, tally: Tally) -> Iterator[Seen]:
    """The events up to a number that the filter selects, all but its `where` looked at, oldest first. Raises as
    `select`."""
    calls = _calls(reader, sight, until, tally)
    if select(reader, sight.wanted).hosts is None:
        yield from calls
        return
    hosts = _hosts(reader, sight.wanted, until, tally)
    for one in heapq.merge(hosts, calls, key=lambda one: one.number):
        if tally.stopped_at is not None and one.number > tally.stopped_at:
            return  # of one sort there may be more before it
        yield one


def _hosts(reader: SessionReader, wanted: EventFilter, until: int, tally: Tally) -> Iterator[Seen]:
    selection = select(reader, wanted, until)
    if selection.hosts is None or wanted.depth is not None or wanted.caller is not None:
        return
    for row in _batches(reader, f"select {HOST_COLUMNS} from host_events", selection.hosts, tally):
        yield Seen(row, True)


def _calls(reader: SessionReader, sight: Sight, until: int, tally: Tally) -> Iterator[Seen]:
    wanted = sight.wanted
    if wanted.event_type is not None and wanted.event_type not in RECORDED_EVENTS:
        return
    follows = sight.callers or wanted.caller is not None
    is_followed = sight.entries or follows
    scanned = _widened(reader, sight, follows) if is_followed else wanted
    selection = select(reader, scanned, until)
    if selection.calls is None:
        return
    rows = _batches(reader, f"select {CALL_COLUMNS} from strobe_calls", selection.calls, tally)
    if not is_followed:
        at_depth = wanted.depth
        passes, fails = selection.passes, sight.fails
        for row in rows:
            if fails is not None and fails(row[_FUNCTION], row[_WORDS]):
                tally.failed += at_depth is None or row[_DEPTH] == at_depth
                continue
            if at_depth is not None and row[_DEPTH] != at_depth:
                continue
            if passes is None or passes(row[_FUNCTION], row[_WORDS]):
                yield Seen(row)
        return
    yield from _followed(reader, sight, rows, tally)


def _widened(reader: SessionReader, sight: Sight, callers: bool) -> EventFilter:
    """With what leads to the events, too: from the start, or from where the last look has ended."""
    wanted = sight.wanted
    after = wanted.after_event_id if wanted.newest_first else None
    if sight.progress is not None and sight.progress.until is not None:
        after = event_id(reader.session_id, sight.progress.until)
    wanted = replace(wanted, time_from=None, from_event=None, after_event_id=after)
    if callers:
        return replace(
            wanted,
            event_type=None,
            min_duration_ns=None,
            return_value=None,
            function=TextMatch(contains=""),
            function_ids=None,
            source_file=None,
        )
    return replace(wanted, event_type=None, min_duration_ns=None, return_value=None, function=_only_calls(wanted))


def _only_calls(wanted: EventFilter) -> TextMatch:
    return wanted.function or TextMatch(contains="")


def _followed(reader: SessionReader, sight: Sight, rows: Iterator[Row], tally: Tally) -> Iterator[Seen]:
    """Those that are wanted, each with what led to it."""
    wanted, fails = sight.wanted, sight.fails
    is_wanted = _test(reader, wanted)
    is_caller = None if wanted.caller is None else text_test("caller", wanted.caller)
    symbols = reader.functions()
    opened: dict[tuple[int, int], Row] = {} if sight.progress is None else sight.progress.opened
    for row in rows:
        call = (row[_THREAD], row[_DEPTH])
        is_enter = row[_KIND] == _abi.RECORD_ENTER
        entry: Row | None = row
        if is_enter:
            opened[call] = row
        else:
            entry = opened.pop(call, None)
            if entry is not None and entry[_NUMBER] != row[_PARENT]:
                entry = None
        if not is_wanted(row, is_enter):
            continue
        above = opened.get((row[_THREAD], row[_DEPTH] - 1))
        is_above = above is not None and entry is not None and above[_NUMBER] == entry[_PARENT]
        caller = above[_FUNCTION] if above is not None and is_above else None
        if is_caller is not None and (caller not in symbols or not is_caller(symbols[caller].name)):
            continue
        if fails is not None and entry is not None and fails(entry[_FUNCTION], entry[_WORDS]):
            tally.failed += 1
            continue
        yield Seen(row, False, None if is_enter else entry, caller)


def _test(reader: SessionReader, wanted: EventFilter) -> Callable[[Row, bool], bool]:
    """Of what was left out of the conditions."""
    symbols = reader.functions()
    asked = select(reader, replace(wanted, event_type=None, min_duration_ns=None, return_value=None))
    functions = None if asked.functions is None else frozenset(asked.functions)
    first_ns = asked.from_ns or 0
    lowest = [event_number(reader.session_id, wanted.from_event)] if wanted.from_event is not None else []
    if wanted.after_event_id is not None and not wanted.newest_first:
        lowest.append(event_number(reader.session_id, wanted.after_event_id) + 1)
    first = max(lowest, default=0)
    kind = None if wanted.event_type is None else RECORD_KINDS.get(wanted.event_type)
    only_exits = wanted.min_duration_ns is not None or wanted.return_value is not None
    match, least, depth = wanted.return_value, wanted.min_duration_ns or 0, wanted.depth

    def passes(row: Row, is_enter: bool) -> bool:
        if functions is not None and row[_FUNCTION] not in functions:
            return False
        if (kind is not None and row[_KIND] != kind) or (depth is not None and row[_DEPTH] != depth):
            return False
        if row[_NUMBER] < first or row[_TIME] < first_ns:
            return False
        if not only_exits:
            return True
        if is_enter or (row[_DURATION] or 0) < least:
            return False
        if match is None:
            return True
        value = decode_return(symbols.get(row[_FUNCTION]), words_of(row[_WORDS] or b""), bool(row[_FLAGS] & HAS_MORE))
        return is_what_is_asked(value[0], match)

    return passes


def _batches(reader: SessionReader, statement: str, conditions: Conditions, tally: Tally) -> Iterator[Row]:
    after = -1
    latest = max(tally.deadline, time.monotonic() + LEAST_S)  # what is asked of a single row may take a second
    while True:
        terms = f"{conditions.sql()} and number > ?"
        values = (*conditions.values, after, BATCH_ROWS)
        rows = reader.rows(f"{statement} where {terms} order by number limit ?", values)
        for count, row in enumerate(rows, 1):
            yield row
            is_last = len(rows) < BATCH_ROWS and count == len(rows)
            if not is_last and time.monotonic() > (tally.deadline if count % LOOKED_AT == 0 else latest):
                after = int(str(row[_NUMBER]))
                tally.stopped_at = min(after, after if tally.stopped_at is None else tally.stopped_at)
                return
        if len(rows) < BATCH_ROWS:
            return
        after = int(str(rows[-1][_NUMBER]))
