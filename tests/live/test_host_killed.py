"""The process that observed a program is killed: what was recorded stays readable, and can be removed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.leftovers import segments
from support.programs import PROGRAMS
from support.sessions import Build, totals
from support.wait import wait_until

from strobe.model import EventFilter
from strobe.session import SessionManager

HOST = """
import sys, time
from strobe.model import LaunchSpec
from strobe.session import SessionManager
session = SessionManager().launch(LaunchSpec(sys.argv[1], project_root=sys.argv[2]), ["**"])
print(session.id, session.pid, flush=True)
time.sleep(120)
"""


@pytest.fixture
def host(build_program: Build) -> Iterator[tuple[subprocess.Popen[str], str, int]]:
    """(process, session id, pid of the program) of a host that has launched a program."""
    command = [sys.executable, "-c", HOST, str(build_program("threads3")), str(PROGRAMS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        session_id, pid = process.stdout.readline().split()
        yield process, session_id, int(pid)
        process.kill()


def test_sessions_of_another_process_can_be_asked(
    manager: SessionManager, host: tuple[subprocess.Popen[str], str, int]
) -> None:
    session = manager.get(host[1])
    wait_until(lambda: len(totals(session)) > 5, "calls", 20)
    assert [summary.status for summary in manager.list()] == ["running"]
    session.stop()


def test_recorded_calls_survive_the_host(manager: SessionManager, host: tuple[subprocess.Popen[str], str, int]) -> None:
    process, session_id, _ = host
    wait_until(lambda: len(totals(manager.get(session_id))) > 5, "calls", 20)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=10)
    later = SessionManager()
    session = later.get(session_id)
    found = totals(session)
    assert len(found) > 5
    assert session.query(EventFilter(event_type="function_enter")).total_count > 0
    session.stop()
    assert segments(strobe_home) == []
    assert later.list() == []
    later.close()


def test_program_ends_when_its_session_is_stopped_after_the_host(
    manager: SessionManager, host: tuple[subprocess.Popen[str], str, int]
) -> None:
    process, session_id, pid = host
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=10)
    manager.get(session_id).stop()
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the program to end", 10)
