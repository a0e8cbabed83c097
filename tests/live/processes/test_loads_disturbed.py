"""Threads that load libraries go on as untraced: with little stack, cancelled, interrupted by handlers that fork."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, Outcome, outcome, totals, untraced

pytestmark = pytest.mark.parametrize("form", ["native", "portable"])


@pytest.fixture(autouse=True)
def of_form(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)


def test_on_a_small_stack(launch: Launch, build_program: Build, build_plugin: Build) -> None:
    program, arguments = build_program("little_room", "-O1"), ("load", str(build_plugin()))
    session = launch(program, *arguments, patterns=["plugin_run"], sampling="off")
    assert outcome(session) == untraced(program, *arguments)
    assert totals(session)["plugin_run"].count == 10


@pytest.mark.parametrize("patterns", [["plugin_run"], ["@lib:libc.so.6"]], ids=["a function", "the C library"])
def test_by_threads_that_are_cancelled(
    launch: Launch, build_program: Build, build_plugin: Build, patterns: list[str]
) -> None:
    program, plugin = build_program("cancels_loads", "-O1"), str(build_plugin())
    session = launch(program, plugin, patterns=patterns)
    assert outcome(session) == untraced(program, plugin)


def test_a_handler_forks_meanwhile(launch: Launch, build_program: Build, build_plugin: Build) -> None:
    program, plugin = build_program("forks_interrupted", "-O1"), str(build_plugin())
    # untraced a child hangs now and then as well, forked in the middle of the C library's allocator
    tries = (outcome(launch(program, plugin, patterns=["plugin_run"])) for _ in range(3))
    assert Outcome("20 right\n", "", 0) in tries


@pytest.mark.parametrize("how", ["alternate", "filtered", "floating", "namespace", "last"])
def test_where_that_takes_care(launch: Launch, build_program: Build, build_plugin: Build, how: str) -> None:
    """On an alternate stack beside setuid; under a filter on a small stack; with exceptions of floating point unmasked;
    into a namespace of its own in a program with a copy of the linker's state; when the main thread has ended."""
    program, arguments = build_program("loads_oddly", "-O1", "-Wl,--no-as-needed,-lm"), (str(build_plugin()), how)
    session = launch(program, *arguments, patterns=["plugin_run"], sampling="off")
    assert outcome(session) == untraced(program, *arguments)
    if how == "last":  # Frida cannot look at the process any more
        assert any("its main thread has ended" in warning for warning in session.warnings)
    else:
        assert totals(session)["plugin_run"].count == 20
