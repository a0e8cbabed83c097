"""Conditions of traces: only calls for which one holds are recorded, and totals count them all."""

from __future__ import annotations

import os
import re
import signal

import pytest
from support.programs import source_of
from support.sessions import Build, Launch, all_events, status, text
from support.wait import wait_until

from strobe.errors import Code, StrobeError
from strobe.model import Event, EventFilter, TextMatch, TraceRequest, Watch
from strobe.session import Session

FORMS = pytest.mark.parametrize("form", ["native", "portable"])


def conditions() -> dict[int, str]:
    """Those that the program `conditions` has, as Strobe takes them."""
    source = re.sub(r"\s*\\\n\s*", " ", source_of("conditions").read_text())
    found = re.findall(r'CONDITION\((\d+), "((?:[^"\\]|\\.)*)",', source)
    return {int(number): one.replace('\\"', '"') for number, one in found}


def enters(session: Session, function: str) -> list[Event]:
    wanted = EventFilter(function=TextMatch(equals=function), event_type="function_enter")
    return list(all_events(session, wanted))


def rests(session: Session) -> list[int]:
    """What `number % 10` was at each recorded call of inner()."""
    return [int(str(argument.value)) % 10 for event in enters(session, "inner") for argument in event.arguments or ()]


@pytest.mark.parametrize(
    ("compiler", "level", "form"),
    [("g++", "-O0", "native"), ("g++", "-O2", "native"), ("clang++", "-O0", "native"), ("g++", "-O0", "portable")],
)
def test_each_holds_as_the_compiler_has_it(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, compiler: str, level: str, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("conditions", level, compiler=compiler)
    session = launch(program)
    wait_until(lambda: "ready" in text(session, "stdout"))
    wanted, left_out = conditions(), set()
    assert len(wanted) == 58
    for number, where in wanted.items():
        try:
            answer = session.trace(TraceRequest(add=[f"check{number}"], where=where))
            assert answer.hooked_functions == answer.matched_functions, (where, answer.warnings)
        except StrobeError as error:
            assert form == "portable", error
            assert "does not see vector registers" in str(error), where
            left_out.add(number)
    assert len(left_out) == (4 if form == "portable" else 0)
    os.kill(session.pid, signal.SIGUSR1)
    assert status(session) == 0
    counted = dict(re.findall(r"held (\d+) (\d+)", text(session, "stdout")))
    totals = {group.key: group for group in session.timeline.totals(EventFilter(), "function")}
    wrong = {}
    for number, where in wanted.items():
        if number in left_out:
            continue
        held, recorded = int(counted[str(number)]), len(enters(session, f"check{number}"))
        group = totals[f"check{number}"]
        if recorded != held or group.count != 240 or group.count - group.unheld != held or group.undecided:
            wrong[where] = (held, recorded, group)
    assert not wrong


def test_only_calls_for_which_it_holds_are_recorded(launch: Launch, build_program: Build) -> None:
    program = build_program("call_values", "-O0")
    session = launch(
        program, patterns=["Pool::add", "Pool::text"], where="m_count >= 1", watch=[Watch("m_count"), Watch("$return")]
    )
    assert status(session) == 0
    assert [event.watch_values for event in enters(session, "Pool::add")] == [{"m_count": 1}, {"m_count": 3}]
    exits = list(all_events(session, EventFilter(function=TextMatch(equals="Pool::add"), event_type="function_exit")))
    assert [event.watch_values for event in exits] == [{"m_count": 3, "$return": 25}, {"m_count": 6, "$return": 39}]
    assert len(enters(session, "Pool::text")) == 3
    (group,) = session.timeline.totals(EventFilter(function=TextMatch(equals="Pool::add")), "function")
    assert (group.count, group.completed, group.unheld, group.unheld_exits, group.undecided) == (3, 3, 1, 1, 0)
    absence = session.timeline.absence(
        EventFilter(function=TextMatch(equals="Pool::add"), thread_name=TextMatch(equals="none"))
    )
    assert "1 calls for which the condition of their trace did not hold" in absence


def test_what_cannot_be_read_is_not_recorded_and_counted(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("call_values", "-O0"), patterns=["depth"], where="node->value == 2")
    assert status(session) == 0
    assert len(enters(session, "depth")) == 1
    (group,) = session.timeline.totals(EventFilter(), "function")
    assert (group.count, group.unheld, group.undecided) == (3, 2, 1)  # the last node is null


def test_conditions_come_and_go(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("waits_inside", "-O0", "-DAGAIN"), patterns=["inner"], where="number < 0")
    wait_until(lambda: sum(group.count for group in session.timeline.totals(EventFilter(), "function")) > 20)
    assert enters(session, "inner") == []
    session.trace(TraceRequest(add=["inner"], where="number % 10 == 0"))
    wait_until(lambda: len(enters(session, "inner")) > 3)
    assert all(event.arguments and str(event.arguments[0].value).endswith("0") for event in enters(session, "inner"))
    session.trace(TraceRequest(add=["inner"]))
    wait_until(
        lambda: any(
            event.arguments and not str(event.arguments[0].value).endswith("0") for event in enters(session, "inner")
        )
    )
    session.stop(retain=False)


def test_a_function_of_a_pattern_without_condition_has_none(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("waits_inside", "-O0", "-DAGAIN"), patterns=["inner"], where="number % 10 == 0")
    wait_until(lambda: len(enters(session, "inner")) > 3)
    assert not any(rests(session))
    session.trace(TraceRequest(add=["*nner"]))
    wait_until(lambda: any(rests(session)))
    session.stop(retain=False)


def test_what_is_no_condition_is_refused(launch: Launch, build_program: Build) -> None:
    program = build_program("call_values", "-O0")
    for where, said in {
        "nosuch < 3": "Variable 'nosuch' not found",
        "node <": "a value should follow",
        "node->nosuch == 1": "has no field 'nosuch'",
        "$nosuch == 1": "'$nosuch' is not known here",
        "node->value % 1.5 == 2": "'%' takes integers only",
        'node == "x"': "a text",
    }.items():
        with pytest.raises(StrobeError) as caught:
            launch(program, patterns=["depth"], where=where)
        assert caught.value.code is Code.WATCH_FAILED, where
        assert said in str(caught.value), (where, str(caught.value))
    session = launch(program, patterns=["depth", "hides"], where="node == null")
    assert session.launch_answer is not None
    assert any("No call of hides is recorded" in text for text in session.launch_answer.warnings)
    assert status(session) == 0
    assert len(enters(session, "depth")) == 1
    assert enters(session, "hides") == []


def test_a_refused_condition_leaves_what_was_traced(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("waits_inside", "-O0", "-DAGAIN"), patterns=["inner"], where="number % 10 == 0")
    for _ in range(2):  # a refusal is not remembered, and is none of other conditions
        with pytest.raises(StrobeError, match="Variable 'nosuch' not found"):
            session.trace(TraceRequest(add=["inner"], where="nosuch < 3"))
    assert session.trace().active_patterns == ["inner"]
    before = len(enters(session, "inner"))
    wait_until(lambda: len(enters(session, "inner")) > before + 3)
    assert not any(rests(session))
    session.trace(TraceRequest(add=["outer"], where="given == 42"))
    session.stop(retain=False)


@FORMS
def test_a_variable_that_each_thread_has(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("watched", "-O0")
    session = launch(program, patterns=["own"], where="tOwn == 1", watch=[Watch("tOwn - $entry.tOwn")])
    status(session)
    assert [event.arguments[0].value for event in enters(session, "own") if event.arguments] == [10, 20, 30]
    exits = all_events(session, EventFilter(function=TextMatch(equals="own"), event_type="function_exit"))
    assert [event.watch_values for event in exits] == [{"tOwn - $entry.tOwn": step} for step in (10, 20, 30)]
    session = launch(program, patterns=["own"], where='$return == tOwn && tText == "text"')
    status(session)
    assert len(enters(session, "own")) == 9
