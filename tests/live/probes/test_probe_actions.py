"""What a probe does beside recording values: $hit and $time, a rate, limits at lines and at returns."""

from __future__ import annotations

import re

import pytest
from support.programs import line_of
from support.sessions import Build, Launch, all_events, outcome, untraced

from strobe.errors import StrobeError
from strobe.model import Event, EventFilter, Probe, TraceRequest
from strobe.session import Session

BOOKS = 3 * 2000
LINE = f"ledger.cpp:{line_of('ledger.cpp', 'account->what = what')}"
PLACES = pytest.mark.parametrize("place", ["shop::book", "shop::book:return", LINE])


def events(session: Session) -> list[Event]:
    return list(all_events(session, EventFilter(event_type="probe")))


@PLACES
def test_hits_are_counted_where_the_probe_is(launch: Launch, build_program: Build, place: str) -> None:
    """Of three threads together, whatever the condition says."""
    program = build_program("ledger", "-O0")
    session = launch(program, "2000", probe=[f"{place} if $hit % 100 == 7 || cents < 0 : $hit, $hit * 2"])
    assert outcome(session) == untraced(program, "2000")
    found = [int((one.watch_values or {})["$hit"]) for one in events(session)]
    odd = [number for number in found if number % 100 != 7]
    assert sorted(number for number in found if number % 100 == 7) == list(range(7, BOOKS, 100))
    assert len(odd) <= 1  # the refund
    assert all((one.watch_values or {})["$hit * 2"] == 2 * (one.watch_values or {})["$hit"] for one in events(session))
    (one,) = session.timeline.probe_totals()
    assert (one.hits, one.held, one.undecided) == (BOOKS, len(found), 0)


@PLACES
def test_time(launch: Launch, build_program: Build, place: str) -> None:
    session = launch(build_program("ledger", "-O0"), "200", probe=[f"{place} if $time > 0 : $time"])
    outcome(session)
    found = events(session)
    assert len(found) == 600
    apart = [one.timestamp_ns - int((one.watch_values or {})["$time"]) for one in found]
    assert all(abs(ns) < 1_000_000_000 for ns in apart)
    assert min(apart) > -100  # an event's time is a few ns long
    assert sorted(apart)[300] < 100_000


@PLACES
def test_a_rate_counts_on(launch: Launch, build_program: Build, place: str) -> None:
    def change(session: Session) -> None:
        session.trace(TraceRequest(probe=[Probe(place, where="cents > 0", show=("cents",), rate=3, after=10)]))

    session = launch(build_program("ledger", "-O0"), "2000", check=change)
    assert outcome(session).status == 3
    (one,) = session.timeline.probe_totals()
    assert (one.hits, one.held) == (BOOKS, BOOKS - 1)
    found = events(session)
    assert one.recorded == len(found)
    seconds = [event.timestamp_ns // 1_000_000_000 for event in found]
    assert 3 <= len(found) <= 3 * (len(set(seconds)) + 1)


@PLACES
@pytest.mark.parametrize("limit", [None, 5])
def test_once_is_not_looked_at_again(launch: Launch, build_program: Build, place: str, limit: int | None) -> None:
    """What comes behind it is undecided, but for threads that were about to look."""
    probe = Probe(place, where="cents > 0", show=("cents",), limit=limit, once=True)
    session = launch(
        build_program("ledger", "-O0"), "2000", check=lambda one: one.trace(TraceRequest(probe=[probe])) and None
    )
    assert outcome(session).status == 3
    (one,) = session.timeline.probe_totals()
    assert (one.hits, one.recorded, len(events(session))) == (BOOKS, limit or 1, limit or 1)
    assert one.recorded <= one.held <= one.recorded + 2
    assert BOOKS - one.held - 1 <= one.undecided <= BOOKS - one.held  # but for the refund


@PLACES
def test_a_rate_and_a_limit(launch: Launch, build_program: Build, place: str) -> None:
    def change(session: Session) -> None:
        session.trace(TraceRequest(probe=[Probe(place, show=("$hit",), rate=100, limit=2)]))

    session = launch(build_program("ledger", "-O0"), "200", check=change)
    outcome(session)
    # two threads count their hits before they record them
    assert sorted((one.watch_values or {})["$hit"] for one in events(session)) == [1, 2]
    (one,) = session.timeline.probe_totals()
    assert (one.hits, one.held, one.recorded) == (600, 600, 2)


def test_hits_are_of_probes_alone(launch: Launch, build_program: Build) -> None:
    with pytest.raises(Exception, match=r"'\$hit' is not known here"):
        launch(build_program("ledger", "-O0"), "200", patterns=["shop::book"], where="$hit < 3")


@PLACES
def test_messages(launch: Launch, build_program: Build, place: str) -> None:
    said = "booked {cents} {what} {{of}} {account->owner}, {cents < 0 ? 1 : 0}"
    session = launch(
        build_program("ledger", "-O0"),
        "200",
        probe=[f'{place} if account->number == 3 : "{said}", cents', f'{place} if cents == 9 : "nothing to see"'],
    )
    outcome(session)
    found = [one for one in events(session) if one.label == place]
    assert len(found) == 200
    expected = [
        f"booked {-42 if is_odd else number} {'refund' if is_odd else 'bread'} {{of}} till-3, {int(is_odd)}"
        for number, is_odd in ((number, number == 100) for number in range(1, 201))
    ]
    if place == LINE:  # which puts down what it is
        expected = [re.sub(r" (refund|bread) ", " * ", text) for text in expected]
        found_texts = [re.sub(r" (refund|bread|) ", " * ", one.text or "") for one in found]
    else:
        found_texts = [one.text or "" for one in found]
    assert [text.replace('"', "") for text in found_texts] == expected
    assert {one.text for one in events(session) if one.label != place} == {"nothing to see"}
    page = session.query(EventFilter(event_type="probe", where="text contains 'booked -42'"))
    assert [one.text for one in page.events] == [one.text for one in found if "-42" in (one.text or "")]
    assert len(page.events) == 1


def test_messages_that_are_none(launch: Launch, build_program: Build) -> None:
    for log, said in (("{cents", "brace without"), ("a } b", "brace without"), ("{ }", "expression is missing")):
        with pytest.raises(StrobeError, match=said):
            launch(build_program("ledger", "-O0"), "1", probe=[f'shop::book : "{log}"'])
    with pytest.raises(StrobeError, match="'nosuch'"):
        launch(build_program("ledger", "-O0"), "1", probe=['shop::book : "{nosuch}"'])
