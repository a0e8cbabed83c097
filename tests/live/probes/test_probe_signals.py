"""Breakpoint instructions in programs that do something with signals of their own."""

from __future__ import annotations

import time

import pytest
from support.programs import line_of
from support.sessions import Build, Launch, outcome, text, untraced
from support.wait import wait_until

from strobe.errors import Code, StrobeError
from strobe.model import Probe, TraceRequest

LEVELS = pytest.mark.parametrize("level", ["-O0", "-O1"])


@LEVELS
def test_signals_are_blocked_and_handled(launch: Launch, build_program: Build, level: str) -> None:
    """In threads and handlers that block all signals, in handlers of SIGTRAP, in children; the program's own ones."""
    program = build_program("masks", level)
    line = line_of("masks.c", "// step")
    session = launch(program, probe=[f"masks.c:{line} : n", "step : n"])
    assert outcome(session) == untraced(program)
    steps = 3 + 101 + 2 + 1
    assert {one.label: one.hits for one in session.timeline.probe_totals()} == {f"masks.c:{line}": steps, "step": steps}


@pytest.mark.parametrize("way", ["blocked", "unblocked", "suspends", "polls", "waits"])
def test_a_thread_that_blocks_the_signal_already(launch: Launch, build_program: Build, way: str) -> None:
    """A probe comes while it waits, also with another mask than the one that it goes on with."""
    program = build_program("waits_blocked", "-O0")
    line = line_of("waits_blocked.c", "// short")
    for seconds in (2, 8, 20):  # where the machine is busy the probe comes after a shorter wait
        began = time.monotonic()
        session = launch(program, way, str(seconds))
        wait_until(lambda session=session: "ready" in text(session, "stdout"), "its first line")
        try:
            session.trace(TraceRequest(probe=[Probe(f"waits_blocked.c:{line}", show=("n",))]))
        except StrobeError as error:
            assert error.code == Code.PROCESS_EXITED and time.monotonic() - began > seconds
        if time.monotonic() - began < seconds:
            break
    assert outcome(session) == untraced(program, way, str(seconds))
    [totals] = session.timeline.probe_totals()
    if "blocked" in way:
        assert totals.hits > 0
    else:
        assert totals.hits == (4 if way == "suspends" else 2)
