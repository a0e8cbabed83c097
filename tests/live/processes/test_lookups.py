"""The loader's functions ask for the code that calls them, by the return address; traced functions that jump to one
of them are answered as they are untraced."""

from __future__ import annotations

import pytest
from support.differential import NATIVE, PORTABLE
from support.sessions import Build, Launch, outcome, totals, untraced

FUNCTIONS = ["next", "next_of_version", "opened", "opened_apart"]


@pytest.fixture(autouse=True, params=[NATIVE, PORTABLE])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROBE_RECORDER", request.param)


def test_a_traced_function_jumps_to_the_loader(launch: Launch, build_program: Build) -> None:
    program = build_program("looks_up", "-O2")
    session = launch(program, patterns=["*"], sampling="off")
    assert outcome(session) == untraced(program)
    found = totals(session)
    assert {name: found[name].count for name in FUNCTIONS} == dict.fromkeys(FUNCTIONS, 10)
    assert found["right"].count == found["main"].count == 1


def test_the_loaders_functions_are_traced_themselves(launch: Launch, build_program: Build) -> None:
    program = build_program("looks_up", "-O2")
    session = launch(program, patterns=["@lib:libc.so.6"])
    assert outcome(session) == untraced(program)
    assert {"dlsym", "dlvsym"} <= set(session.timeline.traced_names())
