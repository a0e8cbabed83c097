"""The newest events of a program that calls so often that the oldest ones make room all the time."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from support.sessions import Build, Launch
from support.wait import wait_until

from strobe.model import EventFilter, TextMatch

HELD = 2_000_000
COUNT = 7


def test_the_newest_events_while_the_oldest_are_evicted(
    launch: Launch, build_program: Build, settings: Callable[..., None]
) -> None:
    settings({"events.maxPerSession": HELD})
    session = launch(build_program("calls_all_the_time", "-O1"), patterns=["called"], sampling="off")
    wait_until(lambda: session.timeline.loss().evicted > HELD // 4, "the oldest events to go")
    for offset in (0, 3, 1000):
        page = session.query(EventFilter(newest_first=True, limit=COUNT, offset=offset))
        numbers = [int(event.id.rpartition("-")[2]) for event in page.events]
        assert len(numbers) == COUNT and numbers == sorted(numbers, reverse=True)
        assert page.total_count >= offset + COUNT  # on a busy machine most are evicted while they are counted
        assert page.has_more
    called = EventFilter(event_type="function_enter", function=TextMatch(equals="called"))
    assert len(session.last(called, COUNT)) == COUNT
    os.kill(session.pid, signal.SIGUSR1)
    status = session.wait(60)
    assert status is not None and status.code == 0
    first, second = (
        session.query(EventFilter(newest_first=True, limit=COUNT, offset=offset)).events for offset in (0, COUNT)
    )
    assert [event.id for event in session.last(EventFilter(), 2 * COUNT)][::-1] == [one.id for one in [*first, *second]]
