"""What was recorded of one address: as an argument, a result, in what they lead to, in a watch."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from support.sessions import Build, Launch, status, text

from strobe.cli import history_command
from strobe.dataclass import replace
from strobe.model import EventFilter, Watch
from strobe.session import Session
from strobe.session.questions import question

Told = list[tuple[str, str, list[str]]]


@pytest.fixture(params=["g++", "clang++"])
def session(launch: Launch, build_program: Build, request: pytest.FixtureRequest) -> Session:
    """One run of list_of_nodes."""
    program = build_program("list_of_nodes", "-O0", compiler=request.param)
    session = launch(program, patterns=["list::*"], sampling="off", depth=2, watch=[Watch("node", on=("list::drop",))])
    assert status(session) == 0
    return session


def addresses(session: Session) -> list[int]:
    return [int(word, 16) for word in text(session, "stdout").split()]


def told(session: Session, wanted: EventFilter) -> Told:
    page = session.query(wanted)
    assert page.places is not None
    kinds = {"function_enter": "enter", "function_exit": "exit"}
    rows = zip(page.events, page.places, strict=True)
    return [((event.function or "")[len("list::") :], kinds[event.event_type], places) for event, places in rows]


def test_each_event_that_has_it_and_no_other(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = addresses(session)
    wanted = EventFilter(address=second)
    found = told(session, wanted)
    assert found == [
        ("make", "exit", ["$return"]),
        ("link", "enter", ["next"]),
        ("look", "enter", ["node->next"]),
        ("count", "enter", ["owner.first"]),
        ("pass", "enter", ["owner.first"]),
        ("drop", "enter", ["node"]),
        ("drop", "exit", ["node"]),  # the watch
    ]
    page = session.query(wanted)
    assert (page.total_count, page.has_more) == (7, False)
    assert page.checked is not None
    assert page.checked > 1000
    assert told(session, replace(wanted, newest_first=True, limit=2)) == found[:-3:-1]
    assert told(session, replace(wanted, where="has(owner)")) == found[3:5]
    assert len(told(session, EventFilter(address=first, limit=600))) == 1 + 1 + 502 + 2
    monkeypatch.setattr(question, "can_sieve", lambda reader, sight: False)
    assert told(session, wanted) == found


def test_memory_that_was_recorded_behind_a_pointer(session: Session) -> None:
    _, second = addresses(session)
    places = {(name, kind): places for name, kind, places in told(session, EventFilter(address=second + 8))}
    assert places["make", "exit"] == ["in *$return (+8)"]
    assert places["link", "enter"] == ["in *next (+8)"]
    assert places["look", "enter"] == ["in *node->next (+8)"]
    assert places["drop", "enter"][0] == "in *node (+8)"
    name = second + 16
    told_at = [places for function, _, places in told(session, EventFilter(address=name)) if function == "told"]
    assert told_at == [["text"]]
    within = [places for function, _, places in told(session, EventFilter(address=name + 3)) if function == "told"]
    assert within == [["in the text of text (+3)"]]


def test_an_address_that_nothing_has(session: Session) -> None:
    page = session.query(EventFilter(address=0x123456789ABC))
    assert page.events == []
    assert page.absence is not None
    assert page.absence.startswith("0x123456789abc is in none of ")


def test_the_command_line(session: Session) -> None:
    _, second = addresses(session)
    result = CliRunner().invoke(history_command.history, [session.id, f"{second:#x}"], catch_exceptions=False)
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["events", "first", "last", "event", "function", "where", "it", "is"]
    rows = [line.split() for line in lines[1:-1]]
    assert sum(int(row[0]) for row in rows) == 7
    assert rows[-1][-2:] == ["list::drop", "node"]
    assert lines[-1].startswith("7 events of ")
    result = CliRunner().invoke(history_command.history, [session.id, f"{second:#x}", "--limit", "50"])
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["time", "thread", "event", "what", "where", "it", "is"]
    assert lines[2].split()[-1] == "next"
    assert "7 events match" in result.stdout
    result = CliRunner().invoke(history_command.history, [session.id, f"{second:#x}", "--last", "1", "--json"])
    (event,) = json.loads(result.stdout)["events"]
    assert (event["function"], event["places"]) == ("list::drop", ["node"])
    assert "is no address" in CliRunner().invoke(history_command.history, [session.id, "second"]).output


def test_texts_that_members_point_to_are_named(launch: Launch, build_program: Build) -> None:
    """`char*` in a structure: its path, not where it lies."""
    session = launch(build_program("slices", "-O0"), patterns=["Pool::add"], sampling="off", depth=3)
    assert status(session) == 0
    (event, *_) = session.query(EventFilter(event_type="function_enter", where="this->used == 1", limit=1)).events
    pool: Any = next(one.value for one in event.arguments or () if one.name == "this")
    address = pool.to["nodes"].to["name"].address
    page = session.query(EventFilter(address=address, limit=3))
    assert page.places is not None
    assert "this->nodes->name" in page.places[-1]
