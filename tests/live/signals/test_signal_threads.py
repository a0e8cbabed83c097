"""Signals of a traced program: its handlers run in its own threads, as they would untraced."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import processes
from support.programs import PROGRAMS
from support.sessions import Build, Launch, status, totals
from support.wait import wait_until

from strobe.model import EventFilter, LaunchSpec, TextMatch, TraceRequest
from strobe.session import SessionManager
from strobe.values.write.writing import WriteTarget

SECONDS = 60


def read_byte(process: subprocess.Popen[bytes], seconds: float = SECONDS) -> bytes:
    """What the program says next; b"" when it has said nothing after `seconds`."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    return os.read(process.stdout.fileno(), 1) if ready else b""


@pytest.mark.parametrize("form", ["native", "portable"])
def test_handlers_run_in_the_threads_of_the_program(
    build_program: Callable[..., Path], manager: SessionManager, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("waits_in_handlers")
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdin is not None
    try:
        assert read_byte(process) == b"r"
        manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["*"]))
        os.kill(process.pid, signal.SIGUSR1)
        assert read_byte(process) == b"m"
        # the main thread blocks it while its handler runs, so that any other thread that does not would be given it
        for _ in range(5):
            os.kill(process.pid, signal.SIGUSR1)
            assert read_byte(process, 0.2) == b"", "the handler ran twice at once"
            process.stdin.write(b".")
            assert read_byte(process) == b"m"
        process.stdin.write(b".")
    finally:
        processes.end(process)


def blocked_signals(pid: int, thread: int) -> int:
    """Signal n is bit n - 1."""
    lines = Path(f"/proc/{pid}/task/{thread}/status").read_text().splitlines()
    return next(int(line.split()[1], 16) for line in lines if line.startswith("SigBlk"))


def test_the_agent_takes_no_signals_of_a_launched_program(
    build_program: Callable[..., Path], manager: SessionManager
) -> None:
    spec = LaunchSpec(str(build_program("waits_in_handlers")), project_root=str(PROGRAMS))
    session = manager.launch(spec, TraceRequest(["*"]))
    wait_until(lambda: session.query(EventFilter(event_type="stdout")).total_count, "the program to run")
    agents = {int(task.name) for task in Path(f"/proc/{session.pid}/task").iterdir()} - {session.pid}
    wanted = 1 << signal.SIGTERM - 1 | 1 << signal.SIGSEGV - 1
    assert agents and all(blocked_signals(session.pid, thread) & wanted == wanted for thread in agents)
    assert not blocked_signals(session.pid, session.pid) & wanted


@pytest.mark.parametrize("form", ["native", "portable"])
def test_signals_of_faults_that_are_sent_wait_for_the_program(
    build_program: Callable[..., Path], manager: SessionManager, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    process = subprocess.Popen([build_program("waits_for_faults")], stdout=subprocess.PIPE, bufsize=0)
    numbers = [signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT] * 40
    try:
        assert read_byte(process) == b"r"
        session = manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["take"]))
        for count, number in enumerate(numbers):
            os.kill(process.pid, number)
            assert read_byte(process) == b"w", f"{number.name}, the signal number {count}"
            if count % 10 == 0:  # the agent catches faults while it writes
                assert session.writer.write([WriteTarget("taken", count)])[0].error is None
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(SECONDS) == 0
        wait_until(
            lambda: session.query(EventFilter(function=TextMatch(equals="take"))).total_count == 2 * len(numbers),
            "all calls",
        )
    finally:
        processes.end(process)


@pytest.mark.parametrize("form", ["native", "portable"])
def test_threads_after_more_than_there_are_states_for_are_recorded(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """In a program that filters its system calls, where no more can be got ready: those of threads that have ended."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    session = launch(build_program("many_filtered"), patterns=["early", "late"])
    assert status(session) == 0
    assert 250 < totals(session)["early"].count < 300
    assert totals(session)["late"].count == 50
