"""A session that has lasted for a year: numbers, times and what is found by them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from support.timelines import PID, WrittenSession

from strobe._core import Segment, note_checked
from strobe.model import Event, EventFilter, TextMatch

MakeSession = Callable[..., WrittenSession]
YEAR_NS = 365 * 24 * 3600 * 10**9


@pytest.fixture
def old(make_session: MakeSession) -> WrittenSession:
    """Nested calls in two threads, and lines between them."""
    session = make_session()
    session.now = Segment(str(session.path)).ticks_from_ns(YEAR_NS)
    threads = [session.writer.thread(PID, PID + place, f"t{place}", session.now) for place in range(2)]
    for round_ in range(40):
        session.call(threads[round_ % 2], 1 + round_ % 2, inner=2)
        session.output(f"line {round_}\n")
    session.end()
    return session


def number_of(event: Event) -> int:
    return int(event.id.rpartition("-")[2])


def test_numbers_grow_and_events_are_found_by_them(old: WrittenSession) -> None:
    events = old.timeline.tail(0, 10_000)
    assert len(events) == 40 * 7
    numbers = [number_of(event) for event in events]
    assert numbers == sorted(set(numbers))
    assert numbers[0] > 0 and numbers[-1] < 1 << 63
    paged: list[Event] = []
    while True:
        after = paged[-1].id if paged else None
        page = old.timeline.query(EventFilter(after_event_id=after, limit=3))
        if not page.events:
            break
        paged += page.events
    assert paged == events
    assert old.timeline.query(EventFilter(offset=200, limit=5)).events == events[200:205]


def test_times_are_whole_nanoseconds(old: WrittenSession) -> None:
    segment = Segment(str(old.path))
    rate = Fraction(segment.ns_per_tick)
    events = old.timeline.tail(0, 10_000)
    for event in events:
        assert event.timestamp_ns == int(segment.ticks_of(number_of(event)) * rate) >= YEAR_NS
        same = [item.id for item in events if item.timestamp_ns == event.timestamp_ns]
        wanted = EventFilter(time_from=event.timestamp_ns, time_to=event.timestamp_ns)
        assert [item.id for item in old.timeline.query(wanted).events] == same
    before = events[-1].timestamp_ns - events[70].timestamp_ns
    assert old.timeline.query(EventFilter(time_from=f"-{before}ns")).total_count == len(events) - 70


def test_parents_are_known(old: WrittenSession) -> None:
    events = {event.id: event for event in old.timeline.tail(0, 10_000)}
    calls = [event for event in events.values() if event.function]
    for event in calls:
        if event.event_type == "function_exit":
            enter = events[event.parent_event_id or ""]
            assert (enter.event_type, enter.depth, enter.function) == ("function_enter", event.depth, event.function)
        elif event.depth:
            assert events[event.parent_event_id or ""].depth == event.depth - 1


def test_sql_and_absence_know_the_times(old: WrittenSession) -> None:
    events = old.timeline.tail(0, 10_000)
    _, rows = old.timeline.sql("select id, timestamp_ns, parent_event_id from events order by number")
    assert rows == [(event.id, event.timestamp_ns, event.parent_event_id) for event in events]
    _, rows = old.timeline.sql("select id from events order by timestamp_ns, number")
    assert [row[0] for row in rows] == [event.id for event in events]
    wanted = EventFilter(function=TextMatch(equals="app::find"), time_from=YEAR_NS)
    note_checked(str(old.path), old.now)
    absence = old.timeline.query(wanted).absence or ""
    assert "app::find was traced for the whole window" in absence
    largest = max(event.duration_ns or 0 for event in events)
    assert old.timeline.query(EventFilter(min_duration_ns=largest)).total_count >= 1
    assert old.timeline.query(EventFilter(min_duration_ns=largest + 1)).total_count == 0
