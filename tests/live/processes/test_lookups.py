"""The loader's functions ask for the code that calls them, by the return address; traced functions that jump to one
of them are answered as they are untraced. So is who asks where a traced function was called."""

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


@pytest.mark.parametrize("patterns", [["*"], ["*", "@lib:libc.so.6"]], ids=["program", "with C library"])
def test_a_program_is_told_where_its_functions_are_called(
    launch: Launch, build_program: Build, patterns: list[str]
) -> None:
    """By the compiler's instrumentation, and by its own __builtin_return_address."""
    program = build_program("instrumented", "-O2", "-finstrument-functions", "-rdynamic")
    session = launch(program, patterns=patterns, sampling="off")
    assert outcome(session) == untraced(program)
    found = totals(session)
    assert (found["nested"].count, found["leaf"].count) == (3, 3)


def test_the_instrumentation_may_lie_in_a_library(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = build_program("instrumented", "-O1", "-finstrument-functions", "-rdynamic", "-DELSEWHERE")
    library = build_program("instrumented", "-DLIBRARY", "-shared", "-fPIC")
    assert "enter" not in untraced(program).stdout
    monkeypatch.setenv("LD_PRELOAD", str(library))
    expected = untraced(program)
    assert "enter nested from main\n" in expected.stdout
    monkeypatch.delenv("LD_PRELOAD")
    session = launch(program, patterns=["*"], env={"LD_PRELOAD": str(library)})
    assert outcome(session) == expected
