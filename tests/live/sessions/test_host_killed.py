"""The process that observed a program is killed: what was recorded stays readable, and can be removed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.leftovers import segments
from support.programs import PROGRAMS
from support.sessions import Build, all_events, totals
from support.wait import wait_until

from strobe.errors import Code, StrobeError
from strobe.model import EventFilter
from strobe.session import SessionManager

HOST = """
import sys, time
from strobe.model import LaunchSpec
from strobe.session import SessionManager
from strobe.model import TraceRequest
session = SessionManager().launch(LaunchSpec(sys.argv[1], project_root=sys.argv[2]), TraceRequest(["**"]))
print(session.id, session.pid, flush=True)
time.sleep(120)
"""


@dataclass(frozen=True, slots=True)
class Host:
    process: subprocess.Popen[str]
    session_id: str
    program_pid: int

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=60)


@pytest.fixture
def host(build_program: Build) -> Iterator[Host]:
    """Another Strobe process, with a program under observation that has made some calls."""
    command = [sys.executable, "-c", HOST, str(build_program("threads3")), str(PROGRAMS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        session_id, pid = process.stdout.readline().split()
        host = Host(process, session_id, int(pid))
        yield host
        host.kill()
    manager = SessionManager()
    manager.recover()
    for summary in manager.list():
        manager.delete(summary.session_id)
    manager.close()


def test_sessions_of_another_process_can_be_asked_but_not_stopped(manager: SessionManager, host: Host) -> None:
    session = manager.get(host.session_id)
    wait_until(lambda: len(totals(session)) > 5, "calls")
    assert [summary.status for summary in manager.list()] == ["running"]
    with pytest.raises(StrobeError) as caught:
        session.stop()
    assert caught.value.code is Code.SESSION_EXISTS
    assert str(host.process.pid) in str(caught.value)


def test_recorded_calls_survive_the_host(manager: SessionManager, host: Host, strobe_home: Path) -> None:
    wait_until(lambda: len(totals(manager.get(host.session_id))) > 5, "calls")
    host.kill()
    before = totals(manager.get(host.session_id))
    assert len(before) > 5
    later = SessionManager()
    later.recover()
    session = later.get(host.session_id)
    found = totals(session)
    assert all(found[name].count >= group.count for name, group in before.items())
    assert len(list(all_events(session, EventFilter(event_type="function_enter")))) > 100
    assert segments(strobe_home) == []
    session.stop()
    assert later.list() == []
    later.close()


def test_recovery_ends_the_program(manager: SessionManager, host: Host) -> None:
    host.kill()
    manager.recover()
    wait_until(lambda: not Path(f"/proc/{host.program_pid}").exists(), "the program to end", 60)
    assert [(summary.session_id, summary.status) for summary in manager.list()] == [(host.session_id, "stopped")]
