"""Files and threads whose names the kernel does not escape in /proc, or that look as if they had been removed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from support.sessions import Build, Launch, status, text, totals
from support.wait import wait_until

from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager

NAMES = [
    "new\nline",
    "kept (deleted)",
    "new\nline (deleted)",
    "carriage\rreturn",
    "line\u2028separator",
    "file\x1cseparator 1 2 3 4 5",
    r"backslash\012",
    " blanks ",
]
CHANGES = 100


@pytest.fixture(params=NAMES, ids=ascii)
def program(request: pytest.FixtureRequest, build_program: Build, tmp_path: Path) -> Path:
    """`steady` under an odd name."""
    copy = tmp_path / str(request.param)
    shutil.copy(build_program("steady"), copy)
    return copy


def test_launched(program: Path, launch: Launch) -> None:
    session = launch(program, patterns=["steady_*"])
    wait_until(lambda: totals(session).get("steady_two"), "calls")
    assert session.summary().binary_path == str(program)
    assert session.warnings == []


def test_attached_to(program: Path, manager: SessionManager) -> None:
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        try:
            session = manager.launch(LaunchSpec("", pid=process.pid), TraceRequest(["steady_*"]))
            wait_until(lambda: totals(session).get("steady_two"), "calls")
            assert session.summary().binary_path == str(program)
            session.stop()
        finally:
            process.kill()


def test_threads_of_any_name_are_held_while_code_is_changed(launch: Launch, build_program: Build) -> None:
    """One that goes on stands in the bytes that are written sooner or later, and the program dies."""
    session = launch(build_program("odd_thread_names"), patterns=["hot"])
    for _ in range(CHANGES):
        session.trace(TraceRequest(remove=["hot"]))
        session.trace(TraceRequest(add=["hot"]))
    called = totals(session)["hot"].count
    wait_until(lambda: totals(session)["hot"].count > called, "more calls")
    os.kill(session.pid, signal.SIGUSR1)
    assert status(session) == 0
    assert text(session, "stdout").splitlines()[-1] == "0 wrong"
