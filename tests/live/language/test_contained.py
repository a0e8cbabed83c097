"""What containers hold, trees, and whether something is there: as the program has it."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator

import pytest
from support.programs import source_of
from support.sessions import Build, Launch, all_events, status, text
from support.wait import wait_until

from strobe.errors import StrobeError
from strobe.model import EventFilter, Probe, TraceRequest
from strobe.session import Session

CALLS = 60
OTHERS = [("g++", "-O2"), ("clang++", "-O0"), ("clang++", "-O2")]  # seconds to build
BUILDS = pytest.mark.parametrize(
    ("compiler", "level"),
    [("g++", "-O0"), *(pytest.param(*how, marks=pytest.mark.long) for how in OTHERS)],
)


def conditions() -> dict[int, str]:
    """Those that the program has, as Strobe takes them."""
    source = re.sub(r"\s*\\\n\s*", " ", source_of("contained").read_text())
    source = re.sub(r'"\s+"', "", source)  # one text on two lines
    found = re.findall(r'CONDITION\((\d+), "((?:[^"\\]|\\.)*)",', source)
    return {int(number): one.replace('\\"', '"') for number, one in found}


@pytest.fixture
def ready(launch: Launch, build_program: Build, compiler: str, level: str) -> Iterator[Session]:
    session = launch(build_program("contained", level, compiler=compiler))
    wait_until(lambda: "ready" in text(session, "stdout"))
    yield session


def ended(session: Session) -> dict[int, int]:
    os.kill(session.pid, signal.SIGUSR1)
    assert status(session) == 0
    return {int(one): int(held) for one, held in re.findall(r"held (\d+) (\d+)", text(session, "stdout"))}


@BUILDS
def test_each_holds_as_the_compiler_has_it(ready: Session) -> None:
    wanted = conditions()
    assert len(wanted) == 48
    for number, where in wanted.items():
        answer = ready.trace(TraceRequest(add=[f"check{number}"], where=where))
        assert answer.hooked_functions == answer.matched_functions, (where, answer.warnings)
    held = ended(ready)
    totals = {group.key: group for group in ready.timeline.totals(EventFilter(), "function")}
    found = {number: totals[f"check{number}"] for number in held}
    assert {one.count for one in found.values()} == {CALLS}
    assert {wanted[n]: one.undecided for n, one in found.items() if one.undecided} == {}
    assert {wanted[n]: (held[n], CALLS - one.unheld) for n, one in found.items() if held[n] != CALLS - one.unheld} == {}


@pytest.mark.parametrize("level", [0, 2])
def test_options_and_variants_of_rust(launch: Launch, build_program: Build, level: int) -> None:
    source = source_of("contained_rust").read_text()
    found = re.findall(r'\$run!\((\d+), "((?:[^"\\]|\\.)*)"', source)
    asked = {int(number): one.replace('\\"', '"') for number, one in found}
    assert len(asked) == 24
    probes = [Probe("contained_rust::check", where=one, label=str(number), limit=0) for number, one in asked.items()]
    session = launch(
        build_program("contained_rust", f"-Copt-level={level}"),
        check=lambda one: one.trace(TraceRequest(probe=probes)) and None,
    )
    assert status(session) == 0
    held = {int(one): int(count) for one, count in re.findall(r"held (\d+) (\d+)", text(session, "stdout"))}
    totals = {int(one.label): one for one in session.timeline.probe_totals()}
    assert {asked[n]: one.undecided for n, one in totals.items() if one.undecided} == {}
    assert {asked[n]: (held[n], one.held) for n, one in totals.items() if held[n] != one.held} == {}


@pytest.mark.parametrize(("compiler", "level"), [("g++", "-O2")])
def test_what_has_no_value_says_why(ready: Session) -> None:
    show = {
        "any(x in tree(shop->circle, ->left, ->right): x.key == 2)": "steps|read at once|room|not all",
        "last(shop->numbers)": "has no element|no elements",
        "last(shop->listed).id": "it has no elements|leads nowhere|no elements",
        "1 << (shop->plain[0] - 1)": "a shift by as many bits as there are, 32, or more",
        "1 / shop->plain[0]": "zero",
        "shop->numbers[7] + 1": "has no element",
    }
    ready.trace(TraceRequest(probe=[Probe("around", where="$hit == 1", show=tuple(show))]))
    ended(ready)
    [event] = all_events(ready, EventFilter(event_type="probe"))
    values = event.watch_values or {}
    for expression, said in show.items():
        assert re.search(said, str(values[expression])), (expression, values[expression])


@pytest.mark.parametrize(("compiler", "level"), [("g++", "-O0")])
@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("last(shop->item) == 3", "a pointer does not say how many there are"),
        ("any(x in tree(shop->root, ->left): x.key == 3)", "where ',' is expected"),
        ("any(x in tree(shop->root, ->key, ->right): x.key == 3)", "key is int, not a pointer to another node"),
        ("any(x in tree(shop->root, ->left, ->rihgt): x.key == 3)", "has no field 'rihgt'. Names like it: right"),
        ("shop->listed contains 3", "neither a number nor a text"),
        ("has(shop->nosuch)", "has no field 'nosuch'"),
        ("has(shop->stock, )", "where a value is expected"),
        ("last(shop->text) == 'x'", "has no field 'text'"),
    ],
)
def test_what_is_refused(ready: Session, expression: str, said: str) -> None:
    with pytest.raises(StrobeError) as caught:
        ready.trace(TraceRequest(probe=[Probe("check0", where=expression)]))
    assert re.search(said, str(caught.value)), str(caught.value)
