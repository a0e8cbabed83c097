"""A segment that grows, or rots, while it is read."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from support.timelines import PID, WrittenSession, write_mixture

from strobe._core import Segment
from strobe.errors import StrobeError
from strobe.model import EventFilter
from strobe.timeline.decode.captured import plain
from strobe.timeline.query import SETTLE_S, Timeline
from strobe.timeline.store import Store

MakeSession = Callable[..., WrittenSession]


def test_a_cursor_sees_each_event_once_while_threads_write(make_session: MakeSession) -> None:
    """And take their time between looking at the clock and writing."""
    session = make_session(400_000)
    calls = 20_000
    names = ("one", "two")
    indexes = [session.writer.thread(PID, 100 + place, name) for place, name in enumerate(names)]
    at_work = {index: threading.Lock() for index in indexes}

    def written_until(moment: int) -> int:
        for lock in at_work.values():
            with lock:
                pass
        return moment

    def write(index: int) -> None:
        segment = Segment(str(session.path))
        apart = 1 << segment.number_shift
        end = 0
        for call in range(calls):
            with at_work[index]:
                begin = max(segment.now_ticks(), end + apart)
                if call % 1_000 == 999:
                    time.sleep(2 * SETTLE_S)
                session.writer.enter(index, begin, 1 + index, 0)
            with at_work[index]:
                end = max(segment.now_ticks(), begin + apart)
                session.writer.exit(index, end, 1 + index, 0, end - begin)

    timeline = Timeline(session.store, session.session_id, session.path, written_until)
    writers = [threading.Thread(target=write, args=(index,)) for index in indexes]
    for writer in writers:
        writer.start()
    seen: list[int] = []
    writing = unread = True
    while writing or unread:
        writing = any(writer.is_alive() for writer in writers)
        events = timeline.tail(seen[-1] if seen else 0)
        unread = bool(events)
        seen += [int(event.id.rpartition("-")[2]) for event in events]
    for writer in writers:
        writer.join()
    assert seen == sorted(set(seen))
    assert len(seen) == 2 * 2 * calls
    assert session.timeline.query(EventFilter()).total_count == len(seen)


def test_counts_of_a_growing_segment_grow(make_session: MakeSession) -> None:
    session = make_session()
    thread = session.writer.thread(PID, PID, "main")
    for round_ in range(1, 6):
        for _ in range(1_000):
            session.call(thread, 1)
        session.output("round\n")
        page = session.timeline.query(EventFilter(offset=round_ * 2_001 - 1, limit=10))
        assert page.total_count == round_ * 2_001
        assert [event.text for event in page.events] == ["round\n"]


def test_a_page_has_no_more_events_than_it_counts(make_session: MakeSession) -> None:
    session = make_session(400_000)
    thread = session.writer.thread(PID, PID, "main")
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            session.call(thread, 1)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(2_000):
            page = session.timeline.query(EventFilter(limit=10_000))
            if page.total_count > 10_000:
                break
            assert page.total_count == len(page.events)
    finally:
        done.set()
        writer.join()


def test_tail_from_the_cursor_gives_only_what_comes_later(make_session: MakeSession) -> None:
    session = make_session()
    thread = session.writer.thread(PID, PID, "main")
    session.call(thread, 1)
    after = session.host_number(session.now)
    assert session.timeline.tail(after) == []
    session.call(thread, 2)
    assert [event.function for event in session.timeline.tail(after)] == ["app::parse", "app::parse"]
    assert [event.function for event in session.timeline.tail(after, 1)] == ["app::parse"]


def test_output_is_seen_as_soon_as_it_is_handed_in(make_session: MakeSession) -> None:
    session = make_session()
    for number in range(50):
        session.output(f"{number}\n")
        assert session.timeline.query(EventFilter(event_type="stdout")).total_count == number + 1


def test_a_missing_or_damaged_segment_is_a_clear_error(make_session: MakeSession) -> None:
    session = make_session()
    session.path.unlink()
    with pytest.raises(StrobeError, match="cannot be read"):
        session.timeline.query(EventFilter())
    damaged = make_session()
    damaged.path.write_bytes(b"x" * 100_000)
    with pytest.raises(StrobeError, match="cannot be read"):
        damaged.timeline.totals(EventFilter(), "function")


def test_plain_sql_sees_what_queries_see(make_session: MakeSession) -> None:
    session = make_session()
    write_mixture(session)
    events = session.timeline.tail(0, 100_000)
    columns, rows = session.timeline.sql("select * from events order by number")
    assert columns[:5] == ["id", "session_id", "timestamp_ns", "thread_id", "thread_name"]
    assert [row[columns.index("id")] for row in rows] == [event.id for event in events]
    for name in (
        "timestamp_ns",
        "event_type",
        "function",
        "source_file",
        "line",
        "depth",
        "duration_ns",
        "thread_name",
        "text",
    ):
        assert [row[columns.index(name)] for row in rows] == [getattr(event, name) for event in events]
    assert [row[columns.index("parent_event_id")] for row in rows] == [event.parent_event_id for event in events]
    returns = [plain(event.return_value) for event in events if event.function]
    assert [row[columns.index("return_value")] for row in rows if row[7]] == returns
    by_function = "select function, count(*) from events where function like 'app%' group by 1"
    counts: list[Any] = session.timeline.sql(by_function)[1]
    assert dict(counts) == {
        name: len([event for event in events if event.function == name])
        for name in ("app::main", "app::parse", "app::find")
    }
    assert session.timeline.sql("select id from events where timestamp_ns < 0") == (["id"], [])


def test_what_is_counted_of_output_is_given(make_session: MakeSession) -> None:
    """Also while lines come: a page and its count are of one moment."""
    session = make_session()
    over = threading.Event()

    def write() -> None:
        store = Store(session.store.home)
        for line in range(1500):
            store.add_host_event(
                session.session_id, "stdout", f"line {line}\n", lambda: session.host_number(session.tick())
            )
        store.close()
        over.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not over.is_set():
        beyond = EventFilter(
            event_type="stdout",
            limit=10,
            offset=session.timeline.query(EventFilter(event_type="stdout", limit=1)).total_count,
        )
        page = session.timeline.query(beyond)
        assert page.has_more == (bool(page.events) and page.total_count > beyond.offset + len(page.events))
    writer.join()


REFUSED = [
    "delete from sessions",
    "insert into events values (1)",
    "create table t(a)",
    "attach 'x' as y",
    "pragma user_version = 3",
    "select load_extension('x')",
    "select nope from events",
    "select 'a' from events where id = ?",
    "selec",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_sql_that_is_wrong_or_would_change_something_is_refused(make_session: MakeSession, statement: str) -> None:
    session = make_session()
    with pytest.raises(StrobeError, match="SQLite rejected the statement"):
        session.timeline.sql(statement)
    assert session.store.get_session(session.session_id).pid == PID
