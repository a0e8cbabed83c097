"""Conditions on a running program: waits for them, and answers where there is no time to look at everything."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner
from support.sessions import Build, Launch, count, text
from support.wait import wait_until

from strobe.cli import query_command
from strobe.mcp.tool import Client, Context
from strobe.mcp.tools import query as query_tool
from strobe.model import EventFilter
from strobe.session import Session, SessionManager
from strobe.session.questions import question, sieving
from strobe.session.waiting import Wait, wait_for
from strobe.timeline import scan
from strobe.timeline.moments import event_number

CALLS = 400  # of each of three tills
ROWS = 50
EACH = "sum(letter in what: 0)"  # no native program decides that: each event is evaluated
REFUND = f"cents + {EACH} < 0 && $return > 0"
Hurry = Callable[[], None]


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> Hurry:
    """From then on no look has time for more than some rows."""

    def begin() -> None:
        for module in (scan, sieving):
            monkeypatch.setattr(module, "LOOKED_AT", ROWS)
        monkeypatch.setattr(question, "SECONDS", -1.0)
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
    after = session.timeline.cursor()
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
    assert looks > 1
    assert event == refund


@pytest.mark.parametrize("where", [REFUND, f"cents + {EACH} < 0", "cents < 0 && !has($caller)"])
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


Query = Callable[..., dict[str, Any]]


@pytest.fixture
def query(manager: SessionManager, session: Session) -> Query:
    """debug_query, in this process."""
    context = Context(Client("", "/", 0, {}), lambda: manager, "")
    return lambda **asked: query_tool.TOOL.run({"sessionId": session.id, **asked}, context)


def numbers(session: Session, answer: dict[str, Any]) -> list[int]:
    return [event_number(session.id, event["id"]) for event in answer["events"]]


@pytest.mark.parametrize("order", [{}, {"order": "desc"}])
def test_pages_that_are_cut_short_repeat_and_skip_nothing(
    session: Session, query: Query, hurry: Hurry, order: dict[str, str]
) -> None:
    where = f"cents + {EACH} > 300 && what"
    wanted = EventFilter(where=where, event_type="function_enter", limit=500, newest_first="order" in order)
    every = [event_number(session.id, event.id) for event in session.query(wanted).events]
    assert len(every) == 3 * (CALLS - 300)
    hurry()
    found: list[int] = []
    after: dict[str, str] = {}
    notes = 0
    while True:
        page = query(where=where, eventType="function_enter", limit=7, **order, **after)
        found += numbers(session, page)
        notes += "note" in page
        assert ("note" in page) == page.get("note", "").startswith("There was no time")
        if not page["hasMore"]:
            break
        after = {"afterEventId": page["nextCursor"]}
        assert len(found) <= len(every)
    assert found == every
    assert notes > 4


@pytest.mark.parametrize("order", [{"order": "desc"}, {"last": 20}])
def test_newest_first_is_said_to_be_of_the_older_part_where_callers_are_looked_for(
    session: Session, query: Query, hurry: Hurry, order: dict[str, Any]
) -> None:
    asked = {"where": "cents > 0 && !has($caller)", "eventType": "function_enter", **order}
    newest = max(numbers(session, query(**asked)))
    hurry()
    page = query(**asked)
    assert next(iter(page)) == "note"
    assert "there may be newer ones than these" in page["note"]
    assert max(numbers(session, page)) < newest
    assert page["hasMore"]
    assert not {"nextCursor", "nextOffset"} & page.keys()


@pytest.mark.parametrize("order", [{"order": "desc"}, {"last": 20}])
def test_newest_first_begins_at_the_newest_end(
    session: Session, query: Query, hurry: Hurry, order: dict[str, Any]
) -> None:
    asked = {"where": f"cents + {EACH} > 0 && what", "eventType": "function_enter", **order}
    whole = numbers(session, query(**asked))
    hurry()
    page = query(**asked)
    found = numbers(session, page)
    assert page["note"].startswith("There was no time to look at the events before")
    assert found == (whole[-len(found) :] if "last" in order else whole[: len(found)])
    assert page["hasMore"]
    assert page["checked"] == ROWS
    assert session.id in page["nextCursor"]


def test_counts_by_a_value_that_are_partial_say_so_first(session: Session, query: Query, hurry: Hurry) -> None:
    assert "note" not in query(groupBy=["what"])
    hurry()
    answer = query(groupBy=["what"])
    assert next(iter(answer)) == "note"
    assert answer["note"].startswith("There was no time to look at the events behind")
    assert answer["checked"] < 3 * CALLS


def test_the_command_line_says_it_first(session: Session, hurry: Hurry) -> None:
    hurry()
    for options in (["--where", f"cents + {EACH} > 0", "--limit", "3"], ["--group-by", "what"]):
        result = CliRunner().invoke(query_command.query, [session.id, *options], catch_exceptions=False)
        assert result.stdout.startswith("There was no time to look at the events behind"), result.output
        result = CliRunner().invoke(query_command.query, [session.id, *options, "--json"], catch_exceptions=False)
        assert next(iter(json.loads(result.stdout))) == "uncheckedAfter"


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("before", ["", "$caller == 'nobody' || "])
def test_a_question_of_which_each_event_takes_long_ends_in_time(
    session: Session, monkeypatch: pytest.MonkeyPatch, newest_first: bool, before: str
) -> None:
    """Though less than a block of events was looked at; and what was not looked at is said."""
    monkeypatch.setattr(question, "SECONDS", 2.0)
    began = time.process_time()  # what others do on the machine does not count
    wanted = EventFilter(where=f"{before}sum(i in 0..90000: i + cents) == 1", newest_first=newest_first)
    page = session.query(wanted)
    assert time.process_time() - began < 20
    assert page.checked is not None and 0 < page.checked < CALLS
    assert "There was no time" in str(page.unchecked(wanted))
