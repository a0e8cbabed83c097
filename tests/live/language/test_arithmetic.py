"""Arithmetic of the language in the program: what each condition gives is what the compiler makes of the same text."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator

import pytest
from support.programs import line_of, source_of
from support.sessions import Build, Launch, all_events, status, text
from support.wait import wait_until

from strobe.errors import StrobeError
from strobe.model import EventFilter, Probe, TraceRequest, Watch
from strobe.session import Session

BUILDS = pytest.mark.parametrize(
    ("compiler", "level"), [("gcc", "-O0"), ("gcc", "-O2"), ("clang", "-O0"), ("clang", "-O2")]
)
CALLS = 120


def conditions() -> dict[int, str]:
    """Those that the program `arithmetic` has: the same text for both."""
    return {
        int(number): condition
        for number, condition in re.findall(
            r"^    SAME\((\d+), (.*)\)\s*\\?$", source_of("arithmetic").read_text(), re.M
        )
    }


def ended(session: Session) -> dict[int, int]:
    """For how many calls each condition was true, as the program has counted."""
    os.kill(session.pid, signal.SIGUSR1)
    assert status(session) == 0
    return {int(one): int(held) for one, held in re.findall(r"held (\d+) (\d+)", text(session, "stdout"))}


@pytest.fixture
def ready(launch: Launch, build_program: Build, compiler: str, level: str) -> Iterator[Session]:
    session = launch(build_program("arithmetic", level, compiler=compiler))
    wait_until(lambda: "ready" in text(session, "stdout"))
    yield session


@BUILDS
def test_at_the_entry_of_a_call(ready: Session) -> None:
    for number, where in conditions().items():
        answer = ready.trace(TraceRequest(add=[f"check{number}"], where=where))
        assert answer.hooked_functions == answer.matched_functions, (where, answer.warnings)
    held = ended(ready)
    totals = {group.key: group for group in ready.timeline.totals(EventFilter(), "function")}
    found = {number: totals[f"check{number}"] for number in held}
    assert {one.count for one in found.values()} == {CALLS}
    assert [conditions()[n] for n, one in found.items() if one.undecided] == []
    differ = {
        conditions()[n]: (held[n], CALLS - one.unheld) for n, one in found.items() if held[n] != CALLS - one.unheld
    }
    assert differ == {}


@BUILDS
@pytest.mark.parametrize(
    "place", ["whole", "whole:return", f"arithmetic.c:{line_of('arithmetic.c', '/* at this line */')}"]
)
def test_where_probes_are(ready: Session, compiler: str, level: str, place: str) -> None:
    """At the line arguments are local variables; at the return they are what the call was given."""
    if level == "-O2" and ".c:" in place:
        pytest.skip("the compiler moves code of lines")
    probes = [Probe(place, where=where, label=str(number), limit=0) for number, where in conditions().items()]
    ready.trace(TraceRequest(probe=probes))
    held = ended(ready)
    found = {int(one.label): one for one in ready.timeline.probe_totals()}
    assert {one.hits for one in found.values()} == {CALLS}
    assert [conditions()[n] for n, one in found.items() if one.undecided] == []
    assert {conditions()[n]: (held[n], one.held) for n, one in found.items() if held[n] != one.held} == {}


@pytest.mark.parametrize(("compiler", "level"), [("gcc", "-O0")])
def test_values(ready: Session) -> None:
    """What is calculated is shown as what it is."""
    shown = {
        "ratio * 2": 5.0,
        "single * 2": 0.2,
        "(float)ratio / 3": 0.8333333,
        "ratio / 0.0": "inf",
        "(int)ratio": 2,
        "small > 0 ? ratio : single": 2.5,
        "sum(x in sample->series: x)": 23.5,
        "max(x in sample->points: x * 2)": 8.0,
        "min(i in 0..4: numbers[i])": -1.5,
        "abs(numbers[3])": 1.5,
        "$return / ratio": 10.0,
        "$return - $entry(ratio * small)": 0.0,
    }
    ready.trace(
        TraceRequest(probe=[Probe("whole:return", where="ratio == 2.5 && small == 10", show=tuple(shown), limit=1)])
    )
    ended(ready)
    (event,) = all_events(ready, EventFilter(event_type="probe"))
    values = event.watch_values or {}
    assert {name: value if isinstance(value, str) else pytest.approx(value) for name, value in shown.items()} == values


@pytest.mark.parametrize(("compiler", "level"), [("gcc", "-O0")])
@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("ratio % 2", "'%' takes integers only"),
        ("ratio << 1", "'<<' takes integers only"),
        ("ratio & 1 == 1", "'&' takes integers only"),
        ("~(ratio + 1)", "an integer is needed"),
        ("numbers[ratio]", "an integer is needed"),
        ("sample + 0.5 == *sample", "neither a number nor a text"),
        ("ratio == 'text'", "text"),
        ("nosuch * 2", "nosuch"),
        ("sample->nosuch", "has no field 'nosuch'"),
        ("ratio *", "value should follow"),
        ("(ratio", "expected|missing|should follow"),
        ("sin(ratio)", "'sin'"),
        ("small matches 'x'", "'matches' needs a text on its left"),
        ("sizeof(nosuch)", "nosuch"),
        ("any(i in 0..small)", ":"),
    ],
)
def test_what_is_refused(ready: Session, expression: str, said: str) -> None:
    for change in (
        lambda: ready.trace(TraceRequest(add=["check0"], where=expression)),
        lambda: ready.trace(TraceRequest(probe=[Probe("whole", where=expression)])),
        lambda: ready.trace(TraceRequest(watch=[Watch(expression)], add=["check0"])),
    ):
        try:
            answer = change()
        except StrobeError as error:
            assert re.search(said, str(error)), str(error)
        else:
            assert any(re.search(said, one) for one in answer.warnings), answer.warnings
