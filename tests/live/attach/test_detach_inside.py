"""The agent goes while threads are in what it has hooked; in the portable form the code there goes with it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import processes
from support.programs import PROGRAMS
from support.rounds import rounds, scenario
from support.sessions import Build, totals
from support.wait import wait_until

from strobe.capture.agent import agent_link
from strobe.model import LaunchSpec, TraceRequest
from strobe.session import Session, SessionManager

SECONDS = 60
FORMS = pytest.mark.parametrize("form", ["native", "portable"])


@contextmanager
def calling(program: Path, threads: int) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([program, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert hear(process) == b"r"
        yield process
        process.send_signal(signal.SIGUSR1)
        assert process.wait(SECONDS) == 0
    finally:
        processes.end(process)


def hear(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], SECONDS)
    return os.read(process.stdout.fileno(), 1) if ready else b""


def say(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.write(b".")
    process.stdin.flush()


def traced(manager: SessionManager, pid: int) -> Session:
    session = manager.launch(LaunchSpec("", pid=pid, project_root=str(PROGRAMS)), TraceRequest(["step"]))
    wait_until(lambda: totals(session).get("step"), "a call", SECONDS)
    return session


@FORMS
@scenario
def test_threads_call_on(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    with calling(build_program("calls_always"), 4) as process:
        for _ in rounds(6):
            traced(manager, process.pid).stop()
            assert process.poll() is None


@FORMS
@scenario
def test_a_handler_waits_above_a_call(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Its thread returns to where it was interrupted, long after the program was let go of."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    monkeypatch.setattr(agent_link, "LEAVING_S", 0.2)
    stays = 0
    with calling(build_program("calls_always"), 0) as process:
        for _ in rounds(4):
            session = traced(manager, process.pid)
            process.send_signal(signal.SIGUSR2)
            assert hear(process) == b"h"
            session.stop()
            stays += any("stays in the process" in warning for warning in session.failures)
            say(process)
            assert process.poll() is None
    assert form == "portable" or stays == 0


@FORMS
@scenario
def test_handlers_have_jumped_out_of_calls(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """A thread that has left the recorder so is not waited for."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    with calling(build_program("calls_always"), 0) as process:
        for _ in rounds(3):
            session = traced(manager, process.pid)
            process.send_signal(signal.SIGHUP)
            assert hear(process) == b"j"
            session.stop()
            assert not session.failures


def catches_faults(pid: int) -> bool:
    caught = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) & 1 << signal.SIGSEGV - 1)


def test_its_handlers_of_faults_go_although_the_agent_stays(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_link, "LEAVING_S", -1)  # nobody has left by then
    monkeypatch.setattr(agent_link, "LEAVING_TURNS", 0)
    with calling(build_program("calls_always"), 0) as process:
        session = traced(manager, process.pid)
        assert catches_faults(process.pid)
        session.stop()
        assert any("stays in the process" in failure for failure in session.failures)
        assert not catches_faults(process.pid)


@FORMS
def test_its_memory_goes(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """All but the little that threads of the program may still come to."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    sizes = []
    with calling(build_program("calls_always"), 4) as process:
        for _ in range(3):
            traced(manager, process.pid).stop()
            pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[0])
            sizes.append(pages * os.sysconf("SC_PAGESIZE"))
    assert sizes[2] - sizes[1] < 1 << 30, sizes  # an arena of malloc may be in it
