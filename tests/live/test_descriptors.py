"""Files that a session has opened in this process are closed when it ends."""

from __future__ import annotations

from pathlib import Path

from support.sessions import Build, Launch, status

from strobe.model import Watch
from strobe.values import ReadTarget

ROUNDS = 5


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_sessions_leave_no_open_files(launch: Launch, build_program: Build) -> None:
    program = build_program("watched", "-O0", "-pthread")
    counts = []
    for _ in range(ROUNDS):
        session = launch(program, patterns=["play"], watch=[Watch("gTempo")], depth=1)
        assert status(session) == 0
        session.stop()
        counts.append(open_files())
    assert counts[-1] <= counts[1], counts


def test_nor_do_those_that_were_stopped(launch: Launch, build_program: Build) -> None:
    program = build_program("watched", "-O0", "-pthread")
    counts = []
    for _ in range(ROUNDS):
        session = launch(program, "loop", patterns=["step"])
        assert session.read([ReadTarget("gTempo")])[0].error is None
        session.stop()
        counts.append(open_files())
    assert counts[-1] <= counts[1], counts
