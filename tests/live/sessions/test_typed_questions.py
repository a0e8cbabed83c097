"""Typed values in questions: filters by result, plain SQL, the tools' JSON and the Python API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sessions import Build, status

import strobe
from strobe.errors import StrobeError
from strobe.mcp.answers import event_json
from strobe.model import EventFilter, LaunchSpec, ReturnMatch, TextMatch, TraceRequest
from strobe.session import Session, SessionManager


@pytest.fixture(scope="module")
def typed(build_program: Build, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """One run of everything that C passes and returns."""
    manager = SessionManager(tmp_path_factory.mktemp("home"))
    session = manager.launch(LaunchSpec(str(build_program("typed", "-O0"))), TraceRequest(["t_*"], "off"))
    assert status(session) == 0
    yield session
    session.stop()
    manager.close()


def returning(session: Session, match: ReturnMatch, function: str | None = None) -> list[str]:
    """Names of the functions of all exits that a filter passes."""
    by_name = None if function is None else TextMatch(equals=function)
    page = session.query(EventFilter(return_value=match, function=by_name, limit=500))
    assert page.total_count == len(page.events)
    assert {event.event_type for event in page.events} <= {"function_exit"}
    return [event.function or "" for event in page.events]


@pytest.mark.parametrize(
    ("asked", "functions"),
    [
        (440.5, ["t_float"]),
        ("440.5", ["t_float"]),
        (0.1, ["t_tenth"]),
        ("MODE_ONCE", ["t_mode"]),
        ("MODE_ONCE(1)", ["t_mode"]),
        ("MODE_ONCE(2)", []),
        ("READ|WRITE|RUN(7)", ["t_access"]),
        ("READ|WRITE|RUN", ["t_access"]),
        (12, ["t_access", "t_stack"]),
        ("back", ["t_text"]),
        ('"back"', ["t_text"]),
        ("new", ["t_buffer"]),
        ("nothing", []),
        ("{x=-2, y=1}", ["t_pair"]),
        ("{re=1.5, im=-2.5}", ["t_conjugate"]),
        ("'y'", ["t_char"]),
        (True, ["t_bool"]),
    ],
)
def test_results_are_found_as_they_are_shown(typed: Session, asked: str | float | bool, functions: list[str]) -> None:
    assert returning(typed, ReturnMatch(equals=asked)) == functions


def test_pages_of_results_that_are_compared_one_by_one(typed: Session) -> None:
    every = typed.query(EventFilter(return_value=ReturnMatch(equals=1), limit=500))
    assert every.total_count == len(every.events) >= 2
    for offset in range(every.total_count + 1):
        page = typed.query(EventFilter(return_value=ReturnMatch(equals=1), limit=1, offset=offset))
        assert page.total_count == every.total_count
        assert page.events == every.events[offset : offset + 1]
        assert page.has_more == (offset + 1 < every.total_count)


def test_text_is_no_null_pointer(typed: Session) -> None:
    assert returning(typed, ReturnMatch(is_null=False), "t_text") == ["t_text"]
    assert returning(typed, ReturnMatch(is_null=True), "t_text") == []
    assert returning(typed, ReturnMatch(equals="back", is_null=False), "t_text") == ["t_text"]


def test_totals_by_text_say_what_to_ask_instead(typed: Session) -> None:
    with pytest.raises(StrobeError, match="return_value"):
        typed.timeline.totals(EventFilter(return_value=ReturnMatch(equals="back")), "function")
    only_mode = EventFilter(return_value=ReturnMatch(equals="MODE_ONCE"), function=TextMatch(equals="t_mode"))
    assert [(group.key, group.count) for group in typed.timeline.totals(only_mode, "function")] == [("t_mode", 1)]


def test_sql_has_the_values(typed: Session) -> None:
    _, rows = typed.sql(
        "select function, arguments, return_value from events where function in ('t_mode', 't_text', 't_pair')"
    )
    arguments = {row[0]: json.loads(str(row[1])) for row in rows if row[1] is not None}
    assert arguments == {
        "t_mode": {"m": "MODE_LOOP(2)"},
        "t_text": {"s": "lead", "none": "0x0"},
        "t_pair": {"p": {"x": 1, "y": -2}},
    }
    returns = {row[0]: row[2] for row in rows if row[1] is None}
    assert returns == {"t_mode": "MODE_ONCE(1)", "t_text": "back", "t_pair": '{"x": -2, "y": 1}'}


def test_tools_have_the_values(typed: Session) -> None:
    page = typed.query(EventFilter(function=TextMatch(matches="^t_(mode|wide|float)$"), limit=500))
    shown = [event_json.event(event, verbose=True, text_limit=100) for event in page.events]
    by_name = {item["function"]: item["arguments"] for item in shown if "arguments" in item}
    assert by_name["t_mode"] == [{"name": "m", "value": "MODE_LOOP(2)"}]
    assert by_name["t_float"] == [
        {"name": "f", "value": 440.0},
        {"name": "n", "value": 3},
        {"name": "d", "value": -0.25},
    ]
    assert by_name["t_wide"] == [{"name": "n", "value": -1}, {"name": "u", "value": 7}]


def test_python_has_plain_values(build_program: Build, tmp_path: Path) -> None:
    with strobe.launch([build_program("typed", "-O0")], trace=["t_*"], sampling="off", home=tmp_path / "own") as run:
        run.wait(timeout=60)
        arguments = {call.function: call.arguments for call in run.calls()}
        results = {call.function: call.return_value for call in run.calls()}
    assert arguments["t_text"]["s"] == "lead"
    assert arguments["t_float"]["f"] == 440.0
    assert arguments["t_mode"]["m"] == "MODE_LOOP"
    assert arguments["t_pair"]["p"] == {"x": 1, "y": -2}
    assert arguments["t_large"]["l"] == {"a": 1, "b": 2, "c": 3.5}
    assert results["t_spot"] == {"x": -1.0, "y": 1.0}
    assert results["t_mode"] == "MODE_ONCE"
