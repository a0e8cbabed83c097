"""Libraries that a program loads while it runs are traced as its own code is, also when they go and come again."""

from __future__ import annotations

import os
import signal

import pytest
from support.sessions import Build, Launch, outcome, status, totals, untraced
from support.wait import wait_until

EVERY_PATTERN = ["plugin_*", "@lib:plugin", "*"]


@pytest.mark.parametrize("pattern", EVERY_PATTERN)
def test_library_that_stays_is_traced(launch: Launch, build_program: Build, build_plugin: Build, pattern: str) -> None:
    session = launch(build_program("dlopens"), str(build_plugin()), "keep", patterns=[pattern])
    wait_until(lambda: {"plugin_run", "plugin_helper"} <= set(totals(session)), "calls of the library", 20)
    os.kill(session.pid, signal.SIGUSR1)
    assert (outcome(session).stdout, status(session)) == ("right\n", 0)


@pytest.mark.parametrize("pattern", EVERY_PATTERN)
def test_library_that_goes_and_comes_does_no_harm(
    launch: Launch, build_program: Build, build_plugin: Build, pattern: str
) -> None:
    session = launch(build_program("dlopens"), str(build_plugin()), "reload", patterns=[pattern])
    wait_until(lambda: "plugin_run" in totals(session), "calls of the library", 20)
    for _ in range(5):
        session.trace(remove=[pattern])
        session.trace(add=[pattern])
    called = totals(session)["plugin_run"].count
    wait_until(lambda: totals(session)["plugin_run"].count > called, "calls after it has come again", 20)
    os.kill(session.pid, signal.SIGUSR1)
    assert (outcome(session).stdout, status(session)) == ("right\n", 0)


@pytest.mark.parametrize("pattern", EVERY_PATTERN)
def test_every_call_is_counted_from_the_first_on(
    launch: Launch, build_program: Build, build_plugin: Build, pattern: str
) -> None:
    """The thread in dlopen waits until the hooks are in place, each of the three times."""
    session = launch(build_program("dlopens"), str(build_plugin()), patterns=[pattern], sampling="off")
    assert (outcome(session).stdout, status(session)) == ("right\n", 0)
    found = totals(session)
    assert (found["plugin_run"].count, found["plugin_helper"].count) == (3000, 3000)


def test_short_lived_library_does_the_same(launch: Launch, build_program: Build, build_plugin: Build) -> None:
    program, plugin = build_program("dlopens"), str(build_plugin())
    assert outcome(launch(program, plugin, patterns=["**"])) == untraced(program, plugin)
