"""A program forks and ends: what its children do is still recorded, for as long as somebody wants to know."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.leftovers import segments
from support.sessions import EXIT_SECONDS, Build, Launch, counts, status, text
from support.wait import wait_until

import strobe
from strobe.errors import Code, StrobeError
from strobe.mcp.tool import Client, Context
from strobe.mcp.tools import list_sessions, query
from strobe.model import EventFilter, TraceRequest
from strobe.session import Session, SessionManager
from strobe.timeline.store import Store

STEPS = 5000  # fill several chunks


class Daemon:
    """What the program `daemonises` becomes. It does the steps it is told, and ends when nobody can tell it more."""

    def __init__(self, folder: Path) -> None:
        self.pipe = folder / "commands"
        self.told = folder / "pid"
        os.mkfifo(self.pipe)
        self._commands = -1

    def begin(self) -> int:
        """Its process id, when it has become what it is."""
        pid = int(
            wait_until(lambda: self.told.read_text().strip() if self.told.exists() else "", "the daemon", EXIT_SECONDS)
        )
        self._commands = wait_until(self._opened, "the daemon to open its pipe", EXIT_SECONDS)
        return pid

    def do(self, steps: int) -> None:
        os.write(self._commands, bytes(steps))

    def end(self) -> None:
        if self._commands >= 0:
            os.close(self._commands)
        self._commands = -1

    def kill(self) -> None:
        """Whatever the test has come to."""
        self.end()
        with contextlib.suppress(FileNotFoundError, IndexError, ProcessLookupError):
            os.kill(int(self.told.read_text().split()[0]), signal.SIGKILL)

    def _opened(self) -> int | None:
        with contextlib.suppress(OSError):  # it is not there to read yet
            return os.open(self.pipe, os.O_WRONLY | os.O_NONBLOCK)
        return None


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path)
    yield daemon
    daemon.kill()


def start(launch: Launch, build_program: Build, daemon: Daemon, *more: str) -> tuple[Session, int]:
    """The session and the child's process id; the program itself has ended."""
    program = build_program("daemonises", "-O1")
    session = launch(program, str(daemon.pipe), str(daemon.told), *more, patterns=["*"], sampling="off")
    pid = daemon.begin()
    assert status(session) == 3
    return session, pid


def test_a_daemon_is_recorded_to_its_end(
    launch: Launch, build_program: Build, daemon: Daemon, manager: SessionManager, strobe_home: Path
) -> None:
    session, pid = start(launch, build_program, daemon)
    # the process between it and the program may take its time to end
    wait_until(lambda: session.children == (pid,), "the daemon to be alone", EXIT_SECONDS)
    assert session.going_on() == (
        f"The program (process {session.pid}) has ended (exit status 3); its child {pid} is still recorded."
    )
    assert [(item.status, item.exit_code, item.children) for item in manager.list()] == [("running", 3, (pid,))]
    daemon.do(STEPS)
    wait_until(lambda: counts(session).get("step") == (STEPS, STEPS, 0), "the steps", EXIT_SECONDS)
    assert {event.pid for event in session.query(EventFilter(pid=pid)).events} == {pid}
    with pytest.raises(StrobeError) as caught:
        session.trace(TraceRequest(add=["nothing"]))
    assert caught.value.code is Code.PROCESS_EXITED
    daemon.do(STEPS)
    daemon.end()
    assert session.wait_for_children(EXIT_SECONDS)
    assert session.going_on() is None
    found = counts(session)
    assert found["step"] == (2 * STEPS, 2 * STEPS, 0)
    assert found["work"] == found["tell"] == (1, 1, 0)
    assert [(item.status, item.exit_code, item.children) for item in manager.list()] == [("exited", 3, ())]
    session.stop()
    assert segments(strobe_home) == []


def test_output_of_a_child_is_captured_after_its_parents_end(
    launch: Launch, build_program: Build, daemon: Daemon
) -> None:
    session, _ = start(launch, build_program, daemon, "talks")
    daemon.do(3)
    wait_until(lambda: text(session, "stdout") == "step 1\nstep 2\nstep 3\n", "the child's lines", EXIT_SECONDS)
    daemon.end()
    assert session.wait_for_children(EXIT_SECONDS)


@pytest.mark.parametrize("retain", [False, True])
def test_stop_leaves_a_daemon_unrecorded_and_unharmed(
    launch: Launch, build_program: Build, daemon: Daemon, manager: SessionManager, strobe_home: Path, retain: bool
) -> None:
    session, pid = start(launch, build_program, daemon)
    daemon.do(STEPS)
    wait_until(lambda: counts(session).get("step") == (STEPS, STEPS, 0), "the steps", EXIT_SECONDS)
    with segment_of(session).open("rb") as segment:
        before = os.fstat(segment.fileno()).st_blocks
        session.stop(retain=retain)
        assert segments(strobe_home) == []
        after = os.fstat(segment.fileno())
        if after.st_nlink == 0:  # the daemon has it mapped, but it takes little memory; else it is what is kept
            assert after.st_blocks < before
    daemon.do(STEPS)
    ends(pid, daemon, 2 * STEPS)
    if retain:
        kept = manager.get(session.id)
        assert counts(kept)["step"] == (STEPS, STEPS, 0)
        assert kept.children == ()
        manager.delete(session.id)


def test_strobe_run_returns_when_the_program_does(build_program: Build, daemon: Daemon) -> None:
    program = build_program("daemonises", "-O1")
    command = [sys.executable, "-m", "strobe", "run", "-t", "*", "--", *map(str, (program, daemon.pipe, daemon.told))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=EXIT_SECONDS, stdin=subprocess.DEVNULL)
    pid = daemon.begin()
    assert done.returncode == 3
    assert re.search(rf"\bstrobe: its child(ren)? .*\b{pid} goe?s? on, not recorded any more\n", done.stderr)
    daemon.do(STEPS)
    ends(pid, daemon, STEPS)


def test_the_tools_and_the_api_tell_of_children(build_program: Build, daemon: Daemon, tmp_path: Path) -> None:
    program = build_program("daemonises", "-O1")
    with strobe.launch([program, daemon.pipe, daemon.told], trace=["step"]) as run:
        pid = daemon.begin()
        assert run.wait(EXIT_SECONDS).code == 3
        wait_until(lambda: run.children == (pid,), "the daemon to be alone", EXIT_SECONDS)
        context = Context(Client("", str(tmp_path), os.getpid(), {}), lambda: run._manager, "")
        (listed,) = list_sessions.run({}, context)["sessions"]
        assert (listed["status"], listed["exitCode"], listed["children"]) == ("running", 3, [pid])
        for more in ({}, {"groupBy": ["function"]}):
            assert f"child {pid} is still recorded" in query.run({"sessionId": run.id, **more}, context)["note"]
        with pytest.raises(TimeoutError):
            run.wait_for_children(0)
        daemon.do(3)
        daemon.end()
        run.wait_for_children(EXIT_SECONDS)
        assert len(run.calls("step")) == 3
        assert "note" not in query.run({"sessionId": run.id}, context)


def ends(pid: int, daemon: Daemon, steps: int) -> None:
    """The daemon does what it was told to the last, says so, and ends."""
    process = os.pidfd_open(pid)
    daemon.end()
    ended = select.poll()
    ended.register(process, select.POLLIN)
    assert ended.poll(EXIT_SECONDS * 1000)
    os.close(process)
    assert daemon.told.read_text().split() == [str(pid), "did", str(steps)]


def segment_of(session: Session) -> Path:
    store = Store()
    try:
        return store.get_session(session.id).segment_path
    finally:
        store.close()
