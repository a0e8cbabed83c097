"""Pages of events: rows of the segment and of host_events as model.Event.

The extension merges them by time, counts them and cuts the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from strobe import _abi
from strobe.dataclass import replace
from strobe.model import Event, EventFilter, EventType
from strobe.timeline import crashes, snapshots
from strobe.timeline.decode.captured import CallDecoder
from strobe.timeline.moments import event_id
from strobe.timeline.reader import SessionReader, Thread
from strobe.timeline.selection import Conditions, Selection, select

CALL_COLUMNS = (
    "number, timestamp_ns, kind, function_id, thread_index, tid, depth, duration_ns, return_value, arguments, flags,"
    " parent_number"
)
HOST_COLUMNS = "number, event_type, text, pid, thread_id, thread_name"
HAS_MORE = _abi.FLAG_HAS_RETURN | _abi.FLAG_HAS_EXTRAS  # one bit
_BINDINGS = 10_000  # values in one statement; SQLite takes 32,766
_HOST = 0  # a row that stands for one of the host's events
# of the time that is looked at for the newest events, as a power of two of event numbers: some 10 ms, then 8 times more
_NEAREST_SHIFT, _WIDER_SHIFT = 30, 3
_TRIES = 3  # a thread may come late with its event


class EventDecoder:
    """Decodes one page. Functions and threads are looked up as they are when it is made."""

    def __init__(self, reader: SessionReader) -> None:
        self._reader = reader
        self._functions = reader.functions()
        self._names = reader.code_names()
        self._threads = reader.threads()
        self._pid = reader.record().pid
        self._decoders: dict[tuple[int, bool], CallDecoder] = {}

    def page(self, rows: Sequence[Sequence[Any]]) -> list[Event]:
        """Events of strobe_calls rows (CALL_COLUMNS first), the host's among them filled in from strobe.db."""
        numbers = [int(row[0]) for row in rows if row[2] == _HOST]
        hosts = {event.id: event for event in self.hosts_by_number(numbers)}
        return [self.host_of(row, hosts) if row[2] == _HOST else self.call(row) for row in rows]

    def host_of(self, row: Sequence[Any], hosts: dict[str, Event]) -> Event:
        return hosts[event_id(self._reader.session_id, row[0])]

    def call(self, row: Sequence[Any]) -> Event:
        """The event of a row of strobe_calls, in the order of its columns."""
        number, timestamp_ns, kind, function_id, thread_index, tid, depth, duration_ns, _, blob, flags, parent = row[
            :12
        ]
        symbol = self._functions.get(function_id)
        thread = self._threads.get(thread_index) or Thread(thread_index, self._pid, tid, "")
        session_id = self._reader.session_id
        returns = symbol.returns if symbol else None
        is_enter = kind == _abi.RECORD_ENTER
        decoder = self._decoders.get((function_id, is_enter))
        if decoder is None:
            decoder = self._decoders[function_id, is_enter] = CallDecoder(symbol, is_enter)
        name_at = self._names.at(self._reader.segment.ticks_of(number)) if decoder.has_code else None
        arguments, value, extras = decoder.values(blob or b"", bool(flags & HAS_MORE), name_at)
        if symbol is not None and symbol.is_probe:
            return Event(
                id=event_id(session_id, number),
                timestamp_ns=timestamp_ns,
                event_type="probe",
                thread_id=tid,
                thread_name=thread.name,
                pid=thread.pid,
                function=symbol.raw_name,
                source_file=symbol.source_file,
                line=symbol.line,
                depth=depth,
                parent_event_id=None if parent is None else event_id(session_id, parent),
                label=symbol.name,
                text=symbol.message or None,  # its values are put in where they are decoded
                extras=extras,
            )
        return Event(
            id=event_id(session_id, number),
            timestamp_ns=timestamp_ns,
            event_type="function_enter" if is_enter else "function_exit",
            thread_id=tid,
            thread_name=thread.name,
            pid=thread.pid,
            function=symbol.name if symbol else f"function {function_id}",
            function_raw=symbol.raw_name if symbol else None,
            source_file=symbol.source_file if symbol else None,
            line=symbol.line if symbol else None,
            depth=depth,
            parent_event_id=None if parent is None else event_id(session_id, parent),
            arguments=arguments,
            return_value=value,
            return_type=returns.name if returns and not is_enter else None,
            duration_ns=duration_ns,
            sampled=bool(flags & _abi.FLAG_SAMPLED),
            return_missed=is_enter and bool(flags & _abi.FLAG_NO_EXIT),
            extras=extras,
        )

    def hosts_by_number(self, numbers: Sequence[int]) -> list[Event]:
        events: list[Event] = []
        for first in range(0, len(numbers), _BINDINGS):
            some = numbers[first : first + _BINDINGS]
            marks = ",".join("?" * len(some))
            statement = f"select {HOST_COLUMNS} from host_events where session = ? and number in ({marks})"
            events += [self.host(row) for row in self._reader.rows(statement, (self._reader.key, *some))]
        return events

    def host(self, row: Sequence[Any]) -> Event:
        """An event of a HOST_COLUMNS row. Text is decoded as UTF-8 and keeps the line feed that ended its line."""
        number, event_type, text, pid, thread_id, thread_name = row
        crash = crashes.load(text) if event_type == crashes.EVENT_TYPE else None
        snapshot = snapshots.load(text) if event_type == snapshots.EVENT_TYPE else None
        return Event(
            id=event_id(self._reader.session_id, number),
            timestamp_ns=self._reader.segment.to_ns(self._reader.segment.ticks_of(number)),
            event_type=cast(EventType, event_type),
            thread_id=thread_id,
            thread_name=thread_name,
            pid=pid,
            text=crash[0] if crash is not None else decode_text(text) if snapshot is None else None,
            values=crash[1] if crash is not None else None if snapshot is None else snapshot.values,
            errors=None if snapshot is None else snapshot.errors,
            previous=None if snapshot is None else snapshot.previous,
        )


def decode_text(line: bytes) -> str:
    """A line of output; bytes that are not UTF-8 become U+FFFD."""
    return line.decode("utf-8", "replace")


def page_of(reader: SessionReader, selection: Selection, limit: int, offset: int) -> tuple[list[Event], int]:
    """`limit` events from `offset` on, by time, and how many are selected in all."""
    decoder = EventDecoder(reader)
    if selection.calls is None:
        return _host_page(reader, decoder, selection.hosts, limit, offset)
    if selection.passes is not None:
        return _tested_page(reader, decoder, selection, limit, offset)
    rows = _merged_rows(reader, selection, limit, offset, "total")
    return decoder.page(rows), int(rows[0][-1]) if rows else _before(offset, lambda: _total(reader, selection))


def newest_of(
    reader: SessionReader, selection: Selection, limit: int, offset: int, until: int
) -> tuple[list[Event], int]:
    """The page before the newest `offset` of the selected events, the oldest of it first, and how many are selected in
    all. `until`: the number beyond which the selection has none.

    A page is counted from the oldest event, and those of a program that calls very often are all gone in a fraction of
    a second, to make room for newer ones. So it is looked for near the end first, and the rest is counted then.
    """
    for first in _windows(until):
        part = _behind(selection, first)
        for _ in range(_TRIES if first else 1):
            count = page_of(reader, part, 1, 0)[1]
            end = max(0, count - offset)
            start = max(0, end - limit)
            if first and count < offset + limit:
                break
            events, still = page_of(reader, part, end - start, start) if end > start else ([], count)
            if still == count or not first:
                return events, page_of(reader, selection, 1, 0)[1] if first else count
    raise AssertionError("the last window has all")


def _windows(until: int) -> Iterator[int]:
    """Event numbers further and further back from that one, the last one the beginning of all."""
    for shift in range(_NEAREST_SHIFT, until.bit_length(), _WIDER_SHIFT):
        yield max(1, until - (1 << shift))
    yield 0


def _behind(selection: Selection, number: int) -> Selection:
    """What of it has this number at least."""

    def cut(given: Conditions | None) -> Conditions | None:
        if given is None:
            return None
        conditions = Conditions([*given.terms], [*given.values])
        conditions.add("number >= ?", number)
        return conditions

    return replace(selection, calls=cut(selection.calls), hosts=cut(selection.hosts))


def _tested_page(
    reader: SessionReader, decoder: EventDecoder, selection: Selection, limit: int, offset: int
) -> tuple[list[Event], int]:
    """Of calls whose values have to be decoded to be compared: looks at each row that the conditions leave."""
    assert selection.calls is not None and selection.passes is not None
    statement = f"select {CALL_COLUMNS} from strobe_calls where {selection.calls.sql()} order by number"
    kept: list[Sequence[Any]] = []
    total = 0
    with reader.lock:
        for row in reader.connection.execute(statement, tuple(selection.calls.values)):
            if not selection.passes(int(str(row[3])), row[9] or b""):
                continue
            if offset <= total < offset + limit:
                kept.append(row)
            total += 1
    return decoder.page(kept), total


def first_events(reader: SessionReader, selection: Selection, limit: int) -> list[Event]:
    """The first of the selected events, without counting the rest."""
    return EventDecoder(reader).page(_merged_rows(reader, selection, limit, 0, "null"))


def newest_rows(
    reader: SessionReader, wanted: EventFilter, until: int, count: int, before: int
) -> Sequence[Sequence[Any]]:
    """Up to `count` rows (CALL_COLUMNS first) of the calls up to a number that the filter selects, by time, without the
    `before` last ones. Raises as `select`."""
    with reader.lock:
        calls = select(reader, wanted, until).calls
        if calls is None:
            return []
        end = _total(reader, Selection(calls=calls)) - before
        start = max(0, end - count)
        return _merged_rows(reader, Selection(calls=calls), end - start, start, "null") if end > start else []


def count_by_function(reader: SessionReader, calls: Conditions) -> dict[int, tuple[int, int]]:
    """Kept enters and exits per function id."""
    statement = f"select function_id, kind, count from strobe_counts where {calls.sql()}"
    counts: dict[int, tuple[int, int]] = {}
    for function_id, kind, count in reader.rows(statement, calls.values):
        enters, exits = counts.get(int(str(function_id)), (0, 0))
        kept = int(str(count))
        counts[int(str(function_id))] = (enters + kept, exits) if kind == 1 else (enters, exits + kept)
    return counts


def _merged_rows(
    reader: SessionReader, selection: Selection, limit: int, offset: int, total: str
) -> Sequence[Sequence[Any]]:
    calls, hosts = selection.calls, selection.hosts
    assert calls is not None
    conditions = Conditions([*calls.terms], [*calls.values])
    if hosts is not None:
        conditions.add(f"hosts = (select strobe_numbers(number) from host_events where {hosts.sql()})", *hosts.values)
    conditions.add("skip = ?", offset)
    statement = f"select {CALL_COLUMNS}, {total} from strobe_calls where {conditions.sql()} order by number limit ?"
    return reader.rows(statement, (*conditions.values, limit))


def _host_page(
    reader: SessionReader, decoder: EventDecoder, hosts: Conditions | None, limit: int, offset: int
) -> tuple[list[Event], int]:
    if hosts is None:
        return [], 0
    # in one statement: a line that comes between two would be counted and not given
    counted = f"(select count(*) from host_events where {hosts.sql()})"
    statement = (
        f"select {HOST_COLUMNS}, {counted} from host_events where {hosts.sql()} order by number limit ? offset ?"
    )
    rows = reader.rows(statement, (*hosts.values, *hosts.values, limit, offset))
    total = int(str(rows[0][-1])) if rows else _before(offset, lambda: _count_hosts(reader, hosts))
    return [decoder.host(row[:-1]) for row in rows], total


def _before(offset: int, total: Callable[[], int]) -> int:
    """How many there are where the page from `offset` on is empty: what has come since is not among them."""
    return min(total(), offset) if offset else 0


def _count_hosts(reader: SessionReader, hosts: Conditions) -> int:
    return reader.scalar(f"select count(*) from host_events where {hosts.sql()}", hosts.values)


def _total(reader: SessionReader, selection: Selection) -> int:
    """How many are selected, for a page beyond the last one."""
    calls = selection.calls
    kept = reader.scalar(f"select sum(count) from strobe_counts where {calls.sql()}", calls.values) if calls else 0
    return kept + (_count_hosts(reader, selection.hosts) if selection.hosts else 0)
