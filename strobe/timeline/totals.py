"""Totals per function, thread or file.

`total_ns` counts each moment once: of a function that calls itself the time of its outermost calls, of a thread or file
the own times of its functions together.

Where only functions and threads are asked for, they come from the recorder's own totals: exact, whatever was evicted or
sampled. A window of time, a duration or a return value can only be looked for among the events that were kept; such
totals have `exact` False.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from strobe.dataclass import dataclass, replace
from strobe.errors import failure
from strobe.model import CALL_EVENTS, EventFilter, FunctionSymbol, GroupBy
from strobe.timeline.events import count_by_function
from strobe.timeline.reader import SessionReader, Thread
from strobe.timeline.selection import Conditions, Selection, id_blob, select, without_probes

NO_SOURCE_FILE = "(unknown)"


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals of one group; `key` is the function's name, the thread's name or the source file.

    Times in ns over completed calls. `total_ns` counts each moment once: of a function its outermost calls where it
    calls itself, of a thread or file the own times of its functions together. `self_ns` is the time without traced
    callees, None where that is not known (`exact` is False). The others are of the durations of single calls.
    `evicted`, `sampled_out` and `lost` count calls without their enter. `unheld`: calls that were not recorded, as the
    condition of their trace did not hold; `unheld_exits`: those of them that returned; `undecided`: those of them where
    it asked for what could not be read.
    `exact` is False where they are added up from the events that were kept, as a time, duration or return value was
    asked for.
    """

    key: str
    count: int
    total_ns: int
    min_ns: int
    mean_ns: int
    p50_ns: int
    p99_ns: int
    max_ns: int
    self_ns: int | None = None
    thread_id: int | None = None
    completed: int = 0
    unwound: int = 0
    exits_missed: int = 0
    evicted: int = 0
    sampled_out: int = 0
    lost: int = 0
    unheld: int = 0
    unheld_exits: int = 0
    undecided: int = 0
    exact: bool = True


@dataclass(frozen=True, slots=True)
class FunctionLoss:
    """What is missing of one function's `calls`: how many have no enter event, by reason."""

    function: str
    calls: int
    evicted: int
    sampled_out: int
    lost: int
    unheld: int = 0


@dataclass(frozen=True, slots=True)
class ProbeTotals:
    """How often threads came by a probe, exactly, whatever was evicted. `held`: how often its condition did, or all of
    `hits` where it has none; `undecided`: how often what it asks for could not be read; `recorded`: how often that was
    recorded, less than `held` where the probe has a limit."""

    label: str
    hits: int
    held: int
    undecided: int
    recorded: int


_GROUPED = """
select {key}, sum(calls), sum(exits), sum(unwound), sum(exits_missed), coalesce(sum({total}), 0),
    coalesce(sum(duration_ns_sum), 0),
    coalesce(min(min_ns), 0), coalesce(max(max_ns), 0),
    coalesce(strobe_quantile(histogram, 0.5, min_ns, max_ns, ns_per_tick), 0),
    coalesce(strobe_quantile(histogram, 0.99, min_ns, max_ns, ns_per_tick), 0),
    sum(self_ns), sum(unheld_exits), sum(undecided), sum(sampled_out_enters), sum(lost_enters), sum(unheld_enters)
from {table} t {join} where {conditions} group by 1
"""


def totals_of(reader: SessionReader, wanted: EventFilter, group_by: GroupBy) -> list[Totals]:
    """Groups with most calls first. Raises `bad_value` for a filter that asks for no calls."""
    if wanted.event_type is not None and wanted.event_type not in CALL_EVENTS:
        valid = f"{', '.join(CALL_EVENTS)}, or none"
        raise failure(
            "bad_value",
            field="eventType",
            value=wanted.event_type,
            reason="totals count calls only",
            valid=valid,
        )
    chosen = without_probes(reader, None)
    if chosen is not None and wanted.function_ids is not None:
        chosen = [item for item in chosen if item in wanted.function_ids]
    wanted_ids = wanted.function_ids if chosen is None else frozenset(chosen)
    selection = select(reader, replace(wanted, event_type=None, function_ids=wanted_ids))
    if selection.passes is not None:
        reason = "some of these functions return text or structs, which are compared one by one and not added up"
        valid = "totals of functions that return numbers, or the events themselves"
        raise failure("bad_value", field="returnValue", value="equals", reason=reason, valid=valid)
    with reader.lock:
        _fill_groups(reader, group_by)
        threads = _thread_indexes(reader, selection)
        exact = selection.by_totals and (threads is not None or selection.tid is None)
        if exact:
            rows = _exact_rows(reader, _recorder_conditions(reader, selection, threads), group_by)
        else:
            rows = _kept_rows(reader, selection, wanted, group_by)
    found = [_totals(reader.threads(), group_by, exact, row) for row in rows]
    return sorted(found, key=lambda item: (-item.count, item.key))


def function_losses(reader: SessionReader) -> list[FunctionLoss]:
    """What is missing of each function's enters, most calls first.

    Kept enters = calls - evicted - sampled out - lost - unheld, exactly, once the program has ended.
    """
    everything = Conditions(["path = ?"], [reader.path()])
    kept = count_by_function(reader, everything)
    statement = (
        "select function_id, sum(calls), sum(sampled_out_enters), sum(lost_enters), sum(unheld_enters)"
        " from strobe_totals(?) group by 1"
    )
    evicting = reader.segment.loss()["evicted"] > 0
    functions = reader.functions()
    found = []
    for row in reader.rows(statement, everything.values):
        function_id, calls, sampled_out, lost, unheld = (int(str(item)) for item in row)
        missing = calls - kept.get(function_id, (0, 0))[0] - sampled_out - lost - unheld
        name = _name(functions.get(function_id), function_id)
        # what is missing while nothing was evicted is being written at this moment
        found.append(FunctionLoss(name, calls, max(0, missing) if evicting else 0, sampled_out, lost, unheld))
    return sorted(found, key=lambda item: (-item.calls, item.function))


def probe_totals(reader: SessionReader) -> list[ProbeTotals]:
    """Of each probe, by its label, all sites of it together; in the order in which they were added."""
    probes = {function_id: symbol.name for function_id, symbol in reader.functions().items() if symbol.is_probe}
    if not probes:
        return []
    counts = {label: [0, 0, 0, 0] for label in probes.values()}
    columns = "function_id, calls, unheld_enters, unheld_exits, undecided"
    statement = f"select {columns} from strobe_totals where path = ? and functions = ?"
    for function_id, *numbers in reader.rows(statement, (reader.path(), id_blob(probes))):
        own = counts[probes[int(str(function_id))]]
        for index, number in enumerate(numbers):
            own[index] += int(str(number))
    return [
        ProbeTotals(label, hits, hits - unheld + beyond, lacking, hits - unheld)
        for label, (hits, unheld, beyond, lacking) in counts.items()
    ]


def unrecorded(reader: SessionReader, function_ids: Collection[int]) -> set[int]:
    """Those of which no thread has begun to record anything so far; none of them where that is not certain."""
    with reader.lock:
        # a thread asks for an entry before it looks at what is to be recorded; one that is being made has no function
        used = reader.segment.totals_used - 1
        rows = reader.rows("select function_id, count(*) from strobe_totals(?) group by 1", [reader.path()])
        entries = {int(str(function_id)): int(str(count)) for function_id, count in rows}
        is_whole = sum(entries.values()) == used == reader.segment.totals_used - 1
        is_exact = not reader.segment.loss()["lost_no_totals"]
    return set(function_ids) - entries.keys() if is_whole and is_exact else set()


def calls_without_events(reader: SessionReader, function_ids: Collection[int]) -> int:
    """How many calls of these functions were sampled, lost, or left out by the condition of their trace."""
    statement = (
        "select sum(sampled_out_enters + lost_enters + unheld_enters) from strobe_totals"
        " where path = ? and functions = ?"
    )
    return reader.scalar(statement, (reader.path(), id_blob(function_ids)))


def _name(symbol: FunctionSymbol | None, function_id: int) -> str:
    return symbol.name if symbol else f"function {function_id}"


def _fill_groups(reader: SessionReader, group_by: GroupBy) -> None:
    """The temporary table that maps function ids to the names or files of their groups."""
    reader.connection.execute("create temp table if not exists groups(id integer primary key, value text)")
    reader.connection.execute("delete from temp.groups")
    if group_by == "thread":
        return
    rows = [
        (function_id, symbol.name if group_by == "function" else symbol.source_file or NO_SOURCE_FILE)
        for function_id, symbol in reader.functions().items()
    ]
    with reader.connection:
        reader.connection.executemany("insert into temp.groups values (?,?)", rows)


def _grouped(reader: SessionReader, table: str, conditions: Conditions, group_by: GroupBy) -> Sequence[Sequence[Any]]:
    key, join = "t.thread_index", ""
    if group_by != "thread":
        key, join = (
            "coalesce(g.value, 'function ' || t.function_id)",
            "left join temp.groups g on g.id = +t.function_id",
        )
    total = "total_ns" if group_by == "function" else "own_ns"
    statement = _GROUPED.format(key=key, total=total, table=table, join=join, conditions=conditions.sql())
    return reader.rows(statement, conditions.values)


def _thread_indexes(reader: SessionReader, selection: Selection) -> list[int] | None:
    """Thread indexes that the selection names; None for all of them, and for a thread that has no entry of its own."""
    if selection.tid is None:
        return selection.threads
    indexes = [item.index for item in reader.threads().values() if item.tid == selection.tid]
    if selection.threads is not None:
        indexes = [index for index in indexes if index in selection.threads]
    return indexes or None


def _recorder_conditions(reader: SessionReader, selection: Selection, threads: list[int] | None) -> Conditions:
    conditions = Conditions(["path = ?"], [reader.path()])
    if selection.functions is not None:
        conditions.add("functions = ?", id_blob(selection.functions))
    if threads is not None:
        conditions.add("threads = ?", id_blob(threads))
    return conditions


def _exact_rows(reader: SessionReader, conditions: Conditions, group_by: GroupBy) -> list[list[Any]]:
    """Rows of _GROUPED, and how many enters of the group were evicted."""
    rows = [list(row) for row in _grouped(reader, "strobe_totals", conditions, group_by)]
    kept: dict[Any, int] = {}
    evicting = reader.segment.loss()["evicted"] > 0
    if evicting:
        kept = {row[0]: row[1] for row in _grouped(reader, "strobe_kept_totals", conditions, group_by)}
    for row in rows:
        calls, missing = row[1], sum(row[-3:])
        row.append(max(0, calls - kept.get(row[0], 0) - missing) if evicting else 0)
    return rows


def _kept_rows(reader: SessionReader, selection: Selection, wanted: EventFilter, group_by: GroupBy) -> list[list[Any]]:
    """The same from events. Where the filter passes only exits, those are what is counted."""
    assert selection.calls is not None
    rows = [[*row, 0] for row in _grouped(reader, "strobe_kept_totals", selection.calls, group_by)]
    only_exits = wanted.event_type == "function_exit" or wanted.min_duration_ns or wanted.return_value
    for row in rows:
        row[1] = row[2] if only_exits else row[1]
    return rows


def _totals(threads: dict[int, Thread], group_by: GroupBy, exact: bool, row: Sequence[Any]) -> Totals:
    key, calls, exits, unwound, missed, *times, unheld_exits, undecided, sampled_out, lost, unheld, evicted = row
    total_ns, durations_ns, min_ns, max_ns, p50_ns, p99_ns, self_ns = times
    thread = threads.get(key, Thread(key, 0, 0, "")) if group_by == "thread" else None
    return Totals(
        key=thread.name if thread else key,
        count=calls,
        total_ns=total_ns,
        min_ns=min_ns,
        mean_ns=durations_ns // exits if exits else 0,
        p50_ns=p50_ns,
        p99_ns=p99_ns,
        max_ns=max_ns,
        self_ns=self_ns if exits or not exact else 0,
        thread_id=thread.tid if thread else None,
        completed=exits,
        unwound=unwound,
        exits_missed=missed,
        evicted=evicted,
        sampled_out=sampled_out,
        lost=lost,
        unheld=unheld,
        unheld_exits=unheld_exits,
        undecided=undecided,
        exact=exact,
    )
