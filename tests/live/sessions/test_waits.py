"""Waits for a condition on a running program, also where there is no time to look at everything."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import pytest
from support.sessions import Build, Launch, count, text
from support.wait import wait_until

from strobe.model import EventFilter
from strobe.session import Session, questions
from strobe.session.waiting import Wait, wait_for
from strobe.timeline import scan
from strobe.timeline.moments import event_number

CALLS = 400  # of each of three tills
ROWS = 50
REFUND = "cents < 0 && $return > 0"
Hurry = Callable[[], None]


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> Hurry:
    """From then on no look has time for more than some rows."""

    def begin() -> None:
        monkeypatch.setattr(scan, "LOOKED_AT", ROWS)
        monkeypatch.setattr(questions, "SECONDS", -1.0)
        monkeypatch.setattr("strobe.session.waiting._LATE_S", -1.0)

    return begin


@pytest.fixture
def session(launch: Launch, build_program: Build) -> Session:
    """Ledger, after all tills."""
    session = launch(build_program("ledger", "-O1"), str(CALLS), "until", patterns=["shop::book"], sampling="off")
    wait_until(lambda: "booked" in text(session, "stdout"))
    return session


def test_a_call_that_began_before_the_wait(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("waits_inside", "-O0"), patterns=["outer"])
    wait_until(lambda: count(session, "function_enter", "outer") == 1)
    wanted = EventFilter(where="given == 42 && $return == 43")
    after = session.cursor()
    assert wait_for(session, Wait("event", 0.1, wanted), after, threading.Event()).reason == "time-out"
    threading.Timer(0.3, os.kill, (session.pid, signal.SIGUSR1)).start()
    waited = wait_for(session, Wait("event", 40, wanted), after, threading.Event())
    assert waited.event is not None, waited
    assert (waited.event.event_type, waited.event.function, waited.event.return_value) == ("function_exit", "outer", 43)
    # and nothing that was before it
    entered = EventFilter(where="given == 42 && $type == 'function_enter'")
    assert wait_for(session, Wait("event", 40, entered), after, threading.Event()).reason == "exit"


def test_a_look_that_is_cut_short_skips_nothing(session: Session, hurry: Hurry) -> None:
    (refund,) = session.query(EventFilter(where=REFUND)).events
    hurry()
    event, after = session.first(EventFilter(where=REFUND), 0, None, 0.0)
    assert event is None
    assert 0 < after < event_number(session.id, refund.id)
    progress, after, looks = scan.Progress(), 0, 0
    while event is None and looks < 100:
        event, after = session.first(EventFilter(where=REFUND), after, progress, 0.0)
        looks += 1
    assert looks > 4
    assert event == refund


@pytest.mark.parametrize("where", [REFUND, "cents < 0"])
def test_the_cursor_of_a_wait_that_timed_out_goes_on_where_the_look_ended(
    session: Session, hurry: Hurry, where: str
) -> None:
    wanted = EventFilter(where=where)
    (refund,) = session.query(wanted).events
    hurry()
    waited = wait_for(session, Wait("event", 0.0, wanted), 0, threading.Event())
    assert (waited.reason, waited.event) == ("time-out", None)
    after = event_number(session.id, waited.cursor)
    assert after < event_number(session.id, refund.id)
    waited = wait_for(session, Wait("event", 40, wanted), after, threading.Event())  # many looks
    assert waited.event == refund
