"""Macros of programs built with -g3."""

from __future__ import annotations

import re

import pytest
from support.programs import source_of
from support.sessions import Build, Launch, status, text

from strobe.errors import StrobeError
from strobe.model import Probe, TraceRequest

CALLS = 150
BUILDS = pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("gcc", ("-O0", "-g3")),
        ("gcc", ("-O2", "-g3")),
        ("gcc", ("-O0", "-g3", "-gdwarf-4")),
        ("clang", ("-O0", "-fdebug-macro")),
        ("clang", ("-O2", "-fdebug-macro")),
    ],
)


def conditions() -> dict[int, str]:
    found = re.findall(r"^    SAME\((\d+), (.*?)\)\s*\\?$", source_of("macros").read_text(), re.M)
    return {int(number): condition for number, condition in found}


@BUILDS
def test_each_holds_as_the_compiler_has_it(
    launch: Launch, build_program: Build, compiler: str, flags: tuple[str, ...]
) -> None:
    asked = conditions()
    assert len(asked) == 10
    probes = [Probe(f"check{number}", where=one, label=str(number), limit=0) for number, one in asked.items()]
    probes.append(Probe("check0", where="'ann' == NAME", label="text", limit=0))
    program = build_program("macros", *flags, compiler=compiler)
    session = launch(program, check=lambda one: one.trace(TraceRequest(probe=probes)) and None)
    assert status(session) == 0
    held = {str(one): int(count) for one, count in re.findall(r"held (\d+) (\d+)", text(session, "stdout"))}
    totals = {one.label: one for one in session.timeline.probe_totals()}
    assert totals.pop("text").held == CALLS
    assert {asked[int(n)]: one.undecided for n, one in totals.items() if one.undecided} == {}
    assert {asked[int(n)]: (held[n], one.held) for n, one in totals.items() if held[n] != one.held} == {}


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("number > AGAIN", "the macro AGAIN is defined as '1' and as '2'"),
        ("number > NOTHING", "the macro NOTHING stands for '', which is no value here: it is empty"),
        ("number > LOOP", "the macro LOOP stands for itself"),
        ("number > TYPE", "the macro TYPE stands for 'struct State', which is no value here"),
        ("number > TWICE(2)", "'TWICE' is not a function here"),
        ("number > LIMITS", "Variable 'LIMITS' not found"),
    ],
)
def test_what_is_refused(launch: Launch, build_program: Build, where: str, said: str) -> None:
    with pytest.raises(StrobeError, match=re.escape(said)):
        launch(build_program("macros", "-O0", "-g3"), probe=[f"check0 if {where}"])


def test_without_them(launch: Launch, build_program: Build) -> None:
    with pytest.raises(StrobeError, match="Variable 'LIMIT' not found"):
        launch(build_program("macros", "-O0"), probe=["check0 if number > LIMIT"])
