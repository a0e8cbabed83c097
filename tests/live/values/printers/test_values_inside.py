"""Expressions that go into containers, smart pointers and optionals of the C++ library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.reads import error, ready, shown, value
from support.sessions import Launch, all_events, status

from strobe.model import EventFilter, TextMatch, Watch
from strobe.session import Session
from strobe.values.write.writing import WriteTarget

VALUES = {
    "gVector[1]": "2",
    "gNested[2][1]": "3",
    "gPoints[1].x": "3",
    "gTexts[1]": '"two"',
    "gArray[2]": "9",
    "gTextArray[1]": '"y"',
    "gTextDeque[1]": '"q"',
    "gUniquePoint->y": "2",
    "*gUniquePoint": "{x = 1, y = 2}",
    "*gUnique": "5",
    "gShared->y": "4",
    "gWeak->x": "3",
    "*gOptional": "5",
    "gPerson->marks[0]": "1",
    "gSharedPoints[0]->x": "3",
    "gSpan[1]": "2",
    "gPair.first": "1",
}
ERRORS = {
    "gVector[3]": "gVector has no element 3.",
    "gEmptyVector[0]": "gEmptyVector has no element 0.",
    "*gNoUnique": "Null pointer at gNoUnique.",
    "gNoShared->y": "Null pointer at gNoShared.",
    "gSharedPoints[1]->x": "Null pointer at gSharedPoints[1].",
    "gExpired->x": "gExpired has no value.",
    "*gNullopt": "gNullopt has no value.",
}


@pytest.fixture(params=["g++ -O0", pytest.param("clang++ -O2", marks=pytest.mark.long)])  # ten seconds to build
def library(request: pytest.FixtureRequest, build_program: Callable[..., Path], launch: Launch) -> Session:
    compiler, level = request.param.split()
    return ready(launch(build_program("values_library", level, compiler=compiler)))


def test_what_they_hold_is_reached(library: Session) -> None:
    assert {name: shown(library, name) for name in VALUES} == VALUES


def test_what_they_do_not_hold_is_reported(library: Session) -> None:
    assert {name: error(library, name) for name in ERRORS} == ERRORS


def test_the_last_element_and_the_one_behind_it(library: Session) -> None:
    last = value(library, "gHundredOne").total - 1
    assert shown(library, f"gHundredOne[{last}]") == "6"
    assert error(library, f"gHundredOne[{last + 1}]") == f"gHundredOne has no element {last + 1}."
    assert value(library, "&gVector[2]").address == value(library, "&gVector[0]").address + 8


def test_what_they_hold_is_written(library: Session) -> None:
    assert library.writer.write([WriteTarget("gVector[1]", 7)])[0].error is None
    assert shown(library, "gVector") == "[1, 7, 3]"


@pytest.mark.parametrize("form", ["native", "portable"])
def test_what_they_hold_is_watched(
    build_program: Callable[..., Path], launch: Launch, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Read in the program itself, at the beginning and the end of each call."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    names = ("gVector[3]", "*gShared", "*gOptional", "gVector")
    session = launch(build_program("ticking_library"), patterns=["tick"], watch=[Watch(name) for name in names])
    assert status(session) == 0
    calls = all_events(session, EventFilter(function=TextMatch(equals="tick")))
    watched = [event.watch_values or {} for event in calls]
    assert [values["gVector[3]"] for values in watched] == ["gVector has no element 3"] * 3 + [77] * 3
    assert [values["*gShared"] for values in watched] == ["Null pointer at gShared"] * 3 + [5] * 3
    assert [values["*gOptional"] for values in watched] == ["gOptional has no value"] * 3 + [9] * 3
    assert [values["gVector"] for values in watched] == [[1, 2, 3]] * 3 + [[1, 2, 3, 77]] * 3
