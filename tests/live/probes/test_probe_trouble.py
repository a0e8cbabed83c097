"""Programs that a probe must not change: odd ways with signals, faults in a probed line, changes beside a hot place."""

from __future__ import annotations

import os
import signal
import time

import pytest
from support.programs import line_of
from support.sessions import Build, Launch, outcome, text, untraced
from support.wait import wait_until

from strobe.errors import Code, StrobeError
from strobe.model import Probe, TraceRequest

SHORT = f"oddities.c:{line_of('oddities.c', '// short')}"
CALLS = f"faults_in_lines.cpp:{line_of('faults_in_lines.cpp', '// calls')}"
READS = f"faults_in_lines.cpp:{line_of('faults_in_lines.cpp', '// reads')}"


@pytest.mark.parametrize(
    ("oddity", "hits"), [("notifies", 1), ("notifiesOften", 600), ("resets", 3), ("calls", 2), ("schedules", 5)]
)
def test_signals_and_contexts(launch: Launch, build_program: Build, oddity: str, hits: int) -> None:
    program = build_program("oddities", "-O0")
    session = launch(program, oddity, probe=[f"{SHORT} : n"])
    assert outcome(session) == untraced(program, oddity)
    assert [one.hits for one in session.timeline.probe_totals()] == [hits]


@pytest.mark.parametrize("way", ["throws", "looks", "dies"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_faults_in_a_probed_line(launch: Launch, build_program: Build, way: str, level: str) -> None:
    """The handler finds the program's own code there, and so does the unwinder."""
    program = build_program("faults_in_lines", level, "-fnon-call-exceptions")
    session = launch(program, way, probe=[f"{READS} : place"])
    assert outcome(session) == untraced(program, way)
    assert [one.hits for one in session.timeline.probe_totals()] == [2]


@pytest.mark.parametrize("way", ["throws", "looks", "dies"])
def test_faults_of_a_probed_call(launch: Launch, build_program: Build, way: str) -> None:
    """What was pushed for it is taken back."""
    program = build_program("faults_in_lines", "-O2", "-fnon-call-exceptions")
    session = launch(program, way, "calls", probe=[f"{CALLS} : $rdi"])
    assert outcome(session) == untraced(program, way, "calls")
    assert [one.hits for one in session.timeline.probe_totals()] == [2]


def test_changes_beside_a_breakpoint_that_is_always_hit(launch: Launch, build_program: Build) -> None:
    """A thread that has run into it is let go on to its handler, and is not waited for without end."""
    program = build_program("oddities", "-O0")
    session = launch(program, "busy", probe=[SHORT])
    slowest, changes = 0.0, 0
    while session.wait(0) is None and changes < 40:
        begun = time.monotonic()
        try:
            if changes % 2:
                session.trace(TraceRequest(probe=[Probe(SHORT)], probes_ok=True))
            else:
                session.trace(TraceRequest(unprobe=[SHORT]))
        except StrobeError as error:
            assert error.code is Code.PROCESS_EXITED  # at this moment
            break
        slowest, changes = max(slowest, time.monotonic() - begun), changes + 1
    assert outcome(session) == untraced(program, "busy")
    assert changes > 1, changes
    assert slowest < 15.0, f"a change took {slowest:.1f} s"


def test_other_code_where_a_library_was(launch: Launch, build_program: Build) -> None:
    """Breakpoint instructions of the program's own, where probes had theirs."""
    library = build_program("unloaded_library", "-shared", "-fPIC", "-O0")
    program = build_program("replaced_code", "-O0")
    first = line_of("unloaded_library.c", "plugin_level = value")
    probes = [Probe(f"unloaded_library.c:{number}") for number in range(first, first + 4)]
    session = launch(program, str(library))
    wait_until(lambda: "ready" in text(session, "stdout"), "the library")
    session.trace(TraceRequest(probe=probes, probes_ok=True))
    wait_until(lambda: sum(one.hits for one in session.timeline.probe_totals()) > 3, "hits in the library")
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session).stdout.splitlines() == ["ready", "each"]
