"""A program's handlers of faults are its own before, while and after it is traced, and in its children."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import processes
from support.programs import PROGRAMS
from support.sessions import Build, Launch, outcome, totals, untraced
from support.wait import wait_until

from strobe.model import LaunchSpec, TraceRequest
from strobe.session import Session, SessionManager


@pytest.fixture(params=["native", "portable"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("STROBE_RECORDER", request.param)
    return str(request.param)


@contextmanager
def started(program: Path, mode: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([program, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    try:
        yield process
    finally:
        processes.end(process)


def attach(manager: SessionManager, pid: int) -> Session:
    return manager.launch(
        LaunchSpec("", pid=pid, project_root=str(PROGRAMS)), TraceRequest(["*"], sampling="off", depth=2)
    )


def round_of(process: subprocess.Popen[str]) -> list[str]:
    """What the program is told and sees, in itself and in its children."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(".")
    process.stdin.flush()
    return list(iter(process.stdout.readline, "end\n"))


@pytest.mark.usefixtures("form")
def test_what_a_program_is_told_of_its_handlers(manager: SessionManager, build_program: Build) -> None:
    """Attached to, let go of, and attached to again."""
    program = build_program("sets_handlers", "-O1")
    with started(program, "tells") as alone, started(program, "tells") as traced:
        assert round_of(traced) == round_of(alone)
        for _ in range(2):
            session = attach(manager, traced.pid)
            for _ in range(2):
                assert round_of(traced) == round_of(alone)
            assert totals(session)["take"].count > 0
            session.stop()
            for _ in range(2):
                assert round_of(traced) == round_of(alone)


def test_faults_are_caught_until_nobody_records(manager: SessionManager, build_program: Build) -> None:
    """The program sets its handler again and again while Strobe lets go of it."""
    with started(build_program("sets_handlers", "-O1"), "sets") as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        for _ in range(4):
            session = attach(manager, process.pid)
            wait_until(lambda session=session: "give" in totals(session), "calls")
            session.stop()
            assert process.poll() is None
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60)[0] == "right\n"


@pytest.mark.usefixtures("form")
def test_a_signal_that_is_ignored_from_now_on(launch: Launch, build_program: Build) -> None:
    """Another thread is reading where there is no memory."""
    program = build_program("sets_handlers", "-O1")
    found = outcome(launch(program, "ignores", patterns=["take"], sampling="off", depth=2))
    assert found == untraced(program, "ignores")
    assert found.stdout == "40 of 40 right\n"
