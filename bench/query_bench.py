"""Questions over ten million events: a count with a page, filters, conditions on values, pages far back, totals, plain
SQL.

Stresses the SQLite extension, the reader of segments and the native sieve. Baseline: reading the segment's bytes once.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from strobe._synthetic import write_calls
from strobe.cli.output.json_form import dumps, event_json
from strobe.model import Capture, Event, EventFilter, FunctionSymbol, Parameter, TextMatch, ValueKind, ValueType
from strobe.session.questions import Question
from strobe.timeline.query import Timeline
from strobe.timeline.store import Store

from .harness import Figure

EVENTS = 10_000_000
THREADS = 4
FUNCTIONS = 200
SHOWN = 50
SLACK = THREADS * 8  # calls that lie across a point in time
BAR_MS = 100
WHERE_BAR_MS = 1_000
SELECT_BAR_MS = 1_500
SQL_BAR_MS = 10_000
LINES = 84_000
LINES_BAR_MS = 2_000
LINES_BATCH = 2_000
LONG = ValueType(ValueKind.SIGNED, 8, "long")
PARAMETERS = (Parameter("made", LONG, 0, (Capture(0),)), Parameter("deep", LONG, 1, (Capture(1),)))
SHARED_MEMORY = Path("/dev/shm")


def measure(folder: Path) -> list[Figure]:
    times = milliseconds(folder)
    baseline = times.pop("read the segment's bytes")
    return [*(_figure(name, value, baseline) for name, value in times.items()), _lines(folder / "lines")]


def _lines(folder: Path) -> Figure:
    """Events as `strobe run --json` and `strobe query --json` print them."""
    folder.mkdir()
    with session_of(folder, LINES) as (timeline, _):
        events: list[Event] = []
        start = time.process_time()
        while batch := timeline.tail(int(events[-1].id.rpartition("-")[2]) if events else 0, LINES_BATCH):
            events += batch
            for event in batch:
                dumps(event_json(event))
        taken = round((time.process_time() - start) * 1000, 1)
    assert len(events) == LINES, len(events)
    documents = [event_json(event) for event in events]
    start = time.process_time()
    for document in documents:
        dumps(document)
    baseline = round((time.process_time() - start) * 1000, 1)
    return Figure(f"{LINES:,} events as JSON lines, CPU", taken, "ms", "the JSON alone", baseline, bar=LINES_BAR_MS)


def milliseconds(folder: Path, events: int = EVENTS, rounds: int = 3) -> dict[str, float]:
    """Time in ms of each question, the first time it is asked and the best of `rounds` more.

    `folder`: an empty one, for the database. Raises AssertionError where an answer is wrong.
    """
    with session_of(folder, events) as (timeline, segment):
        found: dict[str, float] = {
            "read the segment's bytes": min(_milliseconds(lambda: _read(segment)) for _ in range(3))
        }
        for name, ask in _questions(timeline, events).items():
            found[f"{name}, first time"] = _milliseconds(ask)
            found[f"{name}, again"] = min(_milliseconds(ask) for _ in range(rounds))
        found["plain SQL: group by function"] = _milliseconds(lambda: _plain_sql(timeline, events))
        return found


@contextmanager
def session_of(folder: Path, events: int) -> Iterator[tuple[Timeline, Path]]:
    """An ended session with so many events and its segment, in shared memory."""
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY, prefix="strobe-bench-") as memory:
        segment = Path(memory) / "segment"
        write_calls(str(segment), events // 2, THREADS, FUNCTIONS)
        store = Store(folder / "home")
        session_id = store.add_session("/bin/synthetic", None, events).id
        store.update_session(session_id, status="exited", segment_path=str(segment))
        names = {number: _name(number) for number in range(1, FUNCTIONS + 1)}
        functions = {number: _function(number, name) for number, name in names.items()}
        store.add_functions(session_id, functions)
        timeline = Timeline(store, session_id, segment)
        try:
            yield timeline, segment
        finally:
            timeline.close()
            store.close()


def _read(file: Path) -> None:
    block = bytearray(1 << 20)
    with file.open("rb", buffering=0) as source:
        while source.readinto(block):
            pass


def _name(number: int) -> str:
    return f"bench::function_{number}"


def _function(number: int, name: str) -> FunctionSymbol:
    """Its first argument is the number of the call in its thread, the result its own number."""
    return FunctionSymbol(
        name, name, "synthetic", number, 1, parameters=PARAMETERS, returns=LONG, return_captures=(Capture(6),)
    )


def _questions(timeline: Timeline, events: int) -> dict[str, Callable[[], None]]:
    of_one = events // FUNCTIONS
    one = TextMatch(equals=_name(7))
    middle_ns = timeline.query(EventFilter(time_from="-0ns")).events[0].timestamp_ns // 2

    def expect(wanted: EventFilter, total: int, slack: int = 0) -> Callable[[], None]:
        def ask() -> None:
            page = timeline.query(wanted)
            assert abs(page.total_count - total) <= slack, (wanted, page.total_count, total)
            assert len(page.events) == min(SHOWN, page.total_count)

        return ask

    def expect_totals(wanted: EventFilter, calls: int, slack: int = 0) -> Callable[[], None]:
        def ask() -> None:
            counted = sum(item.count for item in timeline.totals(wanted, "function"))
            assert abs(counted - calls) <= slack, (wanted, counted, calls)

        return ask

    def expect_held(wanted: EventFilter, checked: int, held: int) -> Callable[[], None]:
        def ask() -> None:
            reader, until = timeline.reading()
            found = Question(reader, wanted, lambda event: event, frozenset()).page(until)
            assert (found.checked, found.held, found.undecided) == (checked, held, 0), (wanted, found)
            assert len(found.values) == min(SHOWN, held)

        return ask

    calls = events // 2
    of_thread = calls // THREADS
    return {
        "where: an argument": expect_held(EventFilter(where="made == 77"), calls, THREADS),
        "where: an address": expect_held(EventFilter(address=123_456), events, THREADS),
        "where: an argument, $duration and $depth": expect_held(
            EventFilter(where="made > 0 && $duration < 0 && $depth != 3"), calls, 0
        ),
        "where: an argument and the result": expect_held(
            EventFilter(where="made <= 1000 && $return > 0"), calls, THREADS * min(1000, of_thread)
        ),
        "where and select, newest first": expect_held(
            EventFilter(where="made > 1000 && deep >= 0", select=("made",), newest_first=True),
            calls,
            THREADS * max(0, of_thread - 1000),
        ),
        "count and first page": expect(EventFilter(), events),
        "last page": expect(EventFilter(offset=events - SHOWN), events),
        "page from 9 tenths on": expect(EventFilter(offset=events * 9 // 10), events),
        "one function's events": expect(EventFilter(function=one), of_one),
        "last page of one function's events": expect(EventFilter(function=one, offset=of_one - SHOWN), of_one),
        "calls longer than there are": expect(EventFilter(min_duration_ns=1 << 60), 0),
        "events of half the time": expect(EventFilter(time_from=middle_ns), events // 2, SLACK),
        "totals by function": expect_totals(EventFilter(), events // 2),
        "totals by function of half the time": expect_totals(EventFilter(time_from=middle_ns), events // 4, SLACK),
    }


def _plain_sql(timeline: Timeline, events: int) -> None:
    _, rows = timeline.sql("select function, count(*) from events group by 1")
    assert sorted(rows) == sorted((_name(number), events // FUNCTIONS) for number in range(1, FUNCTIONS + 1))


def _figure(name: str, value: float, baseline: float) -> Figure:
    bar = SQL_BAR_MS if name.startswith("plain SQL") else BAR_MS
    if name.startswith("where"):
        bar = SELECT_BAR_MS if "select" in name else WHERE_BAR_MS
    return Figure(f"{name}, 10 million events", value, "ms", "read the segment's bytes", baseline, bar=bar)


def _milliseconds(ask: Callable[[], object]) -> float:
    start = time.perf_counter()
    ask()
    return round((time.perf_counter() - start) * 1000, 1)
