"""Integers as C has them: each condition holds for the calls for which the compiler's own does, in the program and over
what was recorded."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator

import pytest
from support.programs import PROGRAMS, line_of
from support.sessions import Build, Launch, status, text
from support.wait import wait_until

from strobe.errors import StrobeError
from strobe.model import EventFilter, Probe, TextMatch, TraceRequest
from strobe.session import Session
from strobe.session.questions import question

BUILDS = pytest.mark.parametrize(
    ("program", "compiler", "level"),
    [
        ("integers", "gcc", "-O0"),
        ("integers", "gcc", "-O2"),
        ("integers", "clang", "-O0"),
        ("integers", "clang", "-O2"),
        ("integers_cpp", "g++", "-O0"),
        ("integers_cpp", "g++", "-O2"),
        ("integers_cpp", "clang++", "-O0"),
        ("integers_cpp", "clang++", "-O2"),
    ],
)
SOURCE = PROGRAMS / "language" / "integers.h"
CALLS = 120
ON_STACK = "its value is not known here: the compiler may pass it otherwise"  # clang says nothing of those on the stack


def conditions() -> dict[int, str]:
    """Those that the program has: the same text for both."""
    found = re.findall(r"^    SAME\((\d+), (.*)\)\s*\\?$", SOURCE.read_text(), re.M)
    return {int(number): condition for number, condition in found}


def ended(session: Session) -> dict[int, int]:
    """For how many calls each condition was true, as the program has counted."""
    os.kill(session.pid, signal.SIGUSR1)
    assert status(session) == 0
    return {int(one): int(held) for one, held in re.findall(r"held (\d+) (\d+)", text(session, "stdout"))}


@pytest.fixture
def ready(launch: Launch, build_program: Build, program: str, compiler: str, level: str) -> Iterator[Session]:
    session = launch(build_program(program, level, compiler=compiler))
    wait_until(lambda: "ready" in text(session, "stdout"))
    yield session


def differing(held: dict[int, int], found: dict[int, int]) -> dict[str, tuple[int, int]]:
    return {conditions()[n]: (held[n], count) for n, count in found.items() if held[n] != count}


@BUILDS
def test_in_the_program(ready: Session, compiler: str, level: str) -> None:
    """At the entry of a function; at a line, where arguments are local variables; at the return."""
    assert len(conditions()) == 160
    place = f"integers.h:{line_of('integers.h', '/* at this line */')}" if level == "-O0" else "whole:return"
    refused = set()
    for number, where in conditions().items():
        try:
            answer = ready.trace(TraceRequest(add=[f"check{number}"], where=where))
            assert answer.hooked_functions == answer.matched_functions, (where, answer.warnings)
        except StrobeError as error:
            assert compiler.startswith("clang") and level == "-O2" and ON_STACK in str(error), error
            refused.add(number)
    assert len(refused) < 60
    ready.trace(
        TraceRequest(
            probe=[
                Probe(place, where=where, label=str(n), limit=0)
                for n, where in conditions().items()
                if n not in refused
            ]
        )
    )
    held = ended(ready)
    totals = {group.key: group for group in ready.timeline.totals(EventFilter(), "function")}
    calls = {number: totals[f"check{number}"] for number in held.keys() - refused}
    assert {one.count for one in calls.values()} == {CALLS}
    assert [conditions()[n] for n, one in calls.items() if one.undecided] == []
    assert differing(held, {n: CALLS - one.unheld for n, one in calls.items()}) == {}
    probes = {int(one.label): one for one in ready.timeline.probe_totals()}
    assert {one.hits for one in probes.values()} == {CALLS}
    assert [conditions()[n] for n, one in probes.items() if one.undecided] == []
    assert differing(held, {n: one.held for n, one in probes.items()}) == {}


@BUILDS
def test_over_what_was_recorded(
    ready: Session, program: str, compiler: str, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the native program, and by the evaluation of each event."""
    left_out = [
        "gLimit",
        "gDeep",
        "gSize",
        "sizeof",
        "SECOND",
        "BELOW",
        "ports",
    ]  # of members enumerators have no names
    if program == "integers":
        left_out += ["fields->plain"]  # an enumerator is an int there, as in C++
    if compiler.startswith("clang") and level == "-O2":
        left_out += ["tiny", "flag", "letter", "fields"]
    wanted = {n: one for n, one in conditions().items() if not any(name in one for name in left_out)}
    ready.trace(TraceRequest(add=["whole"], depth=2))
    held = ended(ready)
    assert len(wanted) > 80
    for native in (True, False):
        if not native:
            monkeypatch.setattr(question, "can_sieve", lambda reader, sight: False)
        found, undecided = {}, {}
        for number, where in wanted.items():
            page = ready.query(
                EventFilter(function=TextMatch(equals="whole"), event_type="function_enter", where=where, limit=1)
            )
            found[number] = page.total_count
            if page.undecided:
                undecided[where] = page.undecided
        assert undecided == {}
        assert differing(held, found) == {}
