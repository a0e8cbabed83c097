"""Counting and cutting pages: calls and the host's events merged by time, by the extension and not in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from strobe.model import Event
from strobe.timeline.events import CALL_COLUMNS, HOST_COLUMNS, EventDecoder
from strobe.timeline.reader import SessionReader
from strobe.timeline.selection import Conditions, Selection


def page_of(reader: SessionReader, selection: Selection, limit: int, offset: int) -> tuple[list[Event], int]:
    """`limit` events from `offset` on, by time, and how many are selected in all."""
    decoder = EventDecoder(reader)
    if selection.calls is None:
        return _host_page(reader, decoder, selection.hosts, limit, offset)
    if selection.passes is not None:
        return _tested_page(reader, decoder, selection, limit, offset)
    rows = _merged_rows(reader, selection, limit, offset, "total")
    return decoder.page(rows), int(rows[0][-1]) if rows else _before(offset, lambda: _total(reader, selection))


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
