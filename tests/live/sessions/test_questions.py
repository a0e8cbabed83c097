"""A program of three threads and nested namespaces, asked while it runs: by function, thread, duration and page."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from support.programs import PROGRAMS
from support.sessions import Build, Launch, all_events, counts, outcome, text, totals
from support.wait import wait_until

from strobe.errors import Code, StrobeError
from strobe.model import EventFilter, TextMatch, TraceRequest
from strobe.session import Session, SessionManager


@pytest.fixture
def session(launch: Launch, build_program: Build) -> Iterator[Session]:
    """It runs and is ready; nothing is traced yet."""
    session = launch(build_program("threads3", "-O0"))
    wait_until(lambda: text(session, "stdout") == "ready\n", "the program to be ready")
    yield session


def functions_of(session: Session, wanted: EventFilter) -> set[str | None]:
    return {event.function for event in all_events(session, wanted)}


def test_pattern_added_while_it_runs_shows_calls(session: Session) -> None:
    assert totals(session) == {}
    answer = session.trace(TraceRequest(add=["audio::*"]))
    assert (answer.mode, answer.matched_functions, answer.hooked_functions) == ("runtime", 1, 1)
    wait_until(lambda: totals(session), "calls")
    assert set(totals(session)) == {"audio::tick"}
    session.trace(TraceRequest(add=["audio::**"]))
    wait_until(lambda: len(totals(session)) == 3, "calls of the nested namespace")
    assert set(totals(session)) == {"audio::tick", "audio::engine::render", "audio::engine::mix"}


def test_arguments_results_and_parents(session: Session) -> None:
    session.trace(TraceRequest(add=["audio::**"]))
    wait_until(lambda: len(totals(session)) == 3, "calls")
    wait_until(lambda: session.query(EventFilter(event_type="function_exit")).total_count > 100, "exits")
    session.trace(TraceRequest(remove=["audio::**"]))  # so that there is an end to what is read
    events = {event.id: event for event in all_events(session, EventFilter(thread_name=TextMatch(contains="audio")))}
    mixes = [event for event in events.values() if event.function == "audio::engine::mix" and event.arguments]
    assert mixes
    for mix in mixes:
        assert [argument.name for argument in mix.arguments or ()] == ["left", "right"]
        render = events.get(mix.parent_event_id or "")
        if render is None:
            continue  # its caller began before the pattern was there
        assert (render.function, render.depth) == ("audio::engine::render", (mix.depth or 0) - 1)
        assert render.arguments and mix.arguments and render.arguments[0].value == mix.arguments[0].value
    exits = [
        event for event in events.values() if event.event_type == "function_exit" and event.function == "audio::tick"
    ]
    assert exits
    assert all(event.duration_ns and event.duration_ns > 0 for event in exits)
    # tick(frame) = (3 frame + 1) + (3 frame + 2)
    assert all(isinstance(event.return_value, int) and event.return_value % 6 == 3 for event in exits)


def test_filters(session: Session) -> None:
    session.trace(TraceRequest(add=["**"]))
    wait_until(lambda: {"audio::tick", "midi::tick", "ui::view::tick"} <= set(totals(session)), "all threads")
    session.trace(TraceRequest(remove=["**"]))  # so that there is an end to what is read
    assert functions_of(session, EventFilter(function=TextMatch(equals="midi::parse"))) == {"midi::parse"}
    assert functions_of(session, EventFilter(function=TextMatch(contains="engine::"))) == {
        "audio::engine::render",
        "audio::engine::mix",
    }
    assert functions_of(session, EventFilter(function=TextMatch(matches="^(audio|midi)::tick$"))) == {
        "audio::tick",
        "midi::tick",
    }
    in_ui = functions_of(session, EventFilter(thread_name=TextMatch(contains="ui"))) - {None}
    assert in_ui and not any(str(name).startswith(("audio", "midi")) for name in in_ui)
    longer = list(all_events(session, EventFilter(function=TextMatch(equals="audio::tick"), min_duration_ns=1)))
    assert longer and all(event.event_type == "function_exit" for event in longer)
    assert session.query(EventFilter(min_duration_ns=10**15)).events == []


def test_pages_are_disjoint_and_in_order(session: Session) -> None:
    session.trace(TraceRequest(add=["midi::*"]))
    wait_until(lambda: session.query(EventFilter(event_type="function_enter")).total_count > 60, "60 calls")
    first = EventFilter(event_type="function_enter", limit=10)
    pages = [session.query(replace(first, offset=offset)).events for offset in (0, 10, 20)]
    ids = [event.id for page in pages for event in page]
    assert len(ids) == len(set(ids)) == 30
    times = [event.timestamp_ns for page in pages for event in page]
    assert times == sorted(times)


def test_removed_pattern_is_silent_and_what_was_seen_stays(session: Session) -> None:
    session.trace(TraceRequest(add=["ui::**", "midi::**"]))
    wait_until(lambda: {"ui::view::tick", "midi::tick"} <= set(totals(session)), "calls of both")
    answer = session.trace(TraceRequest(remove=["midi::**"]))
    assert answer.active_patterns == ["ui::**"]
    silent = totals(session)["midi::tick"].count
    going_on = totals(session)["ui::view::tick"].count
    wait_until(lambda: totals(session)["ui::view::tick"].count > going_on + 50, "50 more calls of the other")
    assert totals(session)["midi::tick"].count <= silent + 1
    assert functions_of(session, EventFilter(function=TextMatch(contains="midi::"))) == {"midi::tick", "midi::parse"}


def test_unknown_names_are_answered_with_near_ones(session: Session) -> None:
    answer = session.trace(TraceRequest(add=["audio::engine::rendr"]))
    assert (answer.matched_functions, answer.hooked_functions) == (0, 0)
    assert "audio::engine::render" in answer.status


def test_absence_is_explained(session: Session) -> None:
    session.trace(TraceRequest(add=["audio::*"]))
    wait_until(lambda: totals(session), "calls")
    page = session.query(EventFilter(function=TextMatch(equals="midi::parse")))
    assert page.events == []
    assert page.absence


@pytest.mark.parametrize(
    "regex", ["(", "[", "*", r"(a)\1", "(?=a)", "(?<!a)b", "a{5000}", "a" * 1001, "((a{99}){99}){99}"]
)
def test_bad_regular_expressions(session: Session, regex: str) -> None:
    with pytest.raises(StrobeError) as caught:
        session.query(EventFilter(function=TextMatch(matches=regex)))
    assert caught.value.code is Code.VALIDATION_ERROR


def test_bad_cursor(session: Session) -> None:
    with pytest.raises(StrobeError) as caught:
        session.query(EventFilter(after_event_id="other-session-17"))
    assert caught.value.code is Code.VALIDATION_ERROR


def test_staged_patterns_are_taken_by_the_next_launch(
    manager: SessionManager, launch: Launch, build_program: Build
) -> None:
    manager.stage(str(PROGRAMS), TraceRequest(["flow::catches", "flow::deepest"], [], "auto"))
    answer = manager.stage(str(PROGRAMS), TraceRequest([], ["flow::deepest"], "auto"))
    assert (answer.mode, answer.active_patterns) == ("pending", ["flow::catches"])
    session = launch(build_program("throws", "-O0"))
    assert session.pending_patterns_applied == ["flow::catches"]
    session.wait(60)
    assert counts(session) == {"flow::catches": (10003, 10003, 0)}


@pytest.mark.parametrize("program", ["sh", "cat"])
def test_program_without_debug_information_is_never_silence(launch: Launch, program: str) -> None:
    try:
        session = launch(program, patterns=["*"], stdin="exit\n")
    except StrobeError as error:
        assert error.code is Code.NO_DEBUG_SYMBOLS
        assert error.next_step
        return
    session.wait(60)
    assert totals(session) or session.warnings


@pytest.mark.parametrize("asked", [{"min_duration_ns": 10**12}, {"where": "$duration > 1000000000000"}])
def test_nothing_is_denied_of_calls_that_still_run(launch: Launch, build_program: Build, asked: dict[str, Any]) -> None:
    """One that hangs has no duration yet."""
    session = launch(build_program("absent", "-O1"), patterns=["main"])
    wait_until(lambda: totals(session), "its call")
    wanted = EventFilter(function=TextMatch(equals="main"), **asked)
    absence = session.query(wanted).absence or ""
    assert "This does not prove that it did not happen. 1 of its calls have not returned, and how long" in absence
    os.kill(session.pid, signal.SIGUSR1)
    outcome(session)
    absence = session.query(wanted).absence or ""
    assert "does not prove" not in absence, absence


@pytest.mark.parametrize("name", ["waiting", "working", "resting"])
def test_calls_under_another_name_of_their_thread_are_not_denied(
    launch: Launch, build_program: Build, name: str
) -> None:
    session = launch(build_program("renamed", "-O0"), patterns=["begin", "work", "rest"])
    assert outcome(session).stdout == "done 11\n"
    by_name = TextMatch(equals=name)
    found = session.query(EventFilter(function=TextMatch(equals="work"), thread_name=by_name))
    if not found.events:
        assert found.absence is not None and found.absence.startswith(
            "This does not prove that it did not happen. A thread is known by the name that it had when that was last "
            "read, for all of its calls: it may have had another one at the time."
        )
    absence = session.query(EventFilter(function=TextMatch(equals="rest"), thread_name=by_name)).absence
    assert absence is not None and absence.startswith("It did not happen.")
