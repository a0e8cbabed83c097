"""Files that a session has opened in this process are closed when it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest
from support.sessions import Build, Launch, status
from support.short_form import short
from support.wait import wait_until

from strobe.errors import StrobeError
from strobe.model import EventFilter, LaunchSpec, TraceRequest, Watch
from strobe.session import SessionManager
from strobe.values.reading import ReadTarget

ROUNDS = 5
FAILURES = short(25, 8)


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def goes_back(counts: list[int]) -> None:
    """To what it was after the second round: a thread that ends closes its files a moment after stop() has returned."""
    wait_until(lambda: open_files() <= counts[1], f"the open files to be as before: {counts}, then {open_files()}")


def test_sessions_leave_no_open_files(launch: Launch, build_program: Build) -> None:
    program = build_program("watched", "-O0", "-pthread")
    counts = []
    for _ in range(ROUNDS):
        session = launch(program, patterns=["play"], watch=[Watch("gTempo")], depth=1)
        assert status(session) == 0
        session.stop()
        counts.append(open_files())
    goes_back(counts)


def test_nor_do_those_that_were_stopped(launch: Launch, build_program: Build) -> None:
    program = build_program("watched", "-O0", "-pthread")
    counts = []
    for _ in range(ROUNDS):
        session = launch(program, "loop", patterns=["step"])
        assert session.reader.read([ReadTarget("gTempo")])[0].error is None
        session.stop()
        counts.append(open_files())
    goes_back(counts)


@contextlib.contextmanager
def living(program: Path) -> Iterator[int]:
    """Process id of a program that runs."""
    with subprocess.Popen([program], stdout=subprocess.DEVNULL) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def attach(manager: SessionManager, pid: int, watch: str | None = None) -> None:
    with pytest.raises(StrobeError):
        manager.launch(LaunchSpec("", pid=pid), TraceRequest(["*"], watch=[Watch(watch)] if watch else []))


def open_in_all() -> tuple[int, int]:
    """Descriptors and threads of this process."""
    return open_files(), threading.active_count()


def stays_flat(fail: Callable[[], None]) -> None:
    for _ in range(3):  # what is opened once for all
        fail()
    before = open_in_all()
    for _ in range(FAILURES):
        fail()
    wait_until(lambda: open_in_all() <= before, f"{before}, not {open_in_all()}")


def test_a_refused_attach_leaves_nothing_open(manager: SessionManager, build_program: Build) -> None:
    with living(build_program("steady")) as pid:
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: b") T " in Path(f"/proc/{pid}/stat").read_bytes(), "it to stop")
        stays_flat(lambda: attach(manager, pid))
    assert manager.list() == []


def test_nor_does_one_that_is_taken_back(manager: SessionManager, build_program: Build) -> None:
    """The agent was in already when the watch turned out to be wrong."""
    with living(build_program("steady")) as pid:
        stays_flat(lambda: attach(manager, pid, watch="no_such_variable"))
    assert manager.list() == []


def maps_of(session_id: str) -> list[str]:
    return [line for line in Path("/proc/self/maps").read_text().splitlines() if f"{session_id}/segment" in line]


def kept_and_asked(manager: SessionManager, launch: Launch, program: Path) -> str:
    """Id of a session that was kept, and that this process has open."""
    session = launch(program, patterns=["*"])
    assert status(session) == 0
    session.stop(retain=True)
    assert manager.get(session.id).query(EventFilter()).total_count > 0
    assert maps_of(session.id)
    return session.id


def test_what_another_process_has_deleted_is_let_go_of(
    manager: SessionManager, launch: Launch, build_program: Build
) -> None:
    session_id = kept_and_asked(manager, launch, build_program("hello"))
    other = SessionManager()
    other.delete(session_id)
    other.close()
    assert manager.list() == []
    assert maps_of(session_id) == []


def test_what_retention_has_dropped_is_let_go_of(
    manager: SessionManager, launch: Launch, build_program: Build, settings: Callable[[dict[str, object]], None]
) -> None:
    session_id = kept_and_asked(manager, launch, build_program("hello"))
    settings({"storage.retainDays": 0})
    wait_until(lambda: _seconds_since_end(manager, session_id) > 0, "its last second to pass")
    launch(build_program("hello"))
    assert session_id not in [item.session_id for item in manager.list()]
    assert maps_of(session_id) == []


def _seconds_since_end(manager: SessionManager, session_id: str) -> float:
    (ended,) = [item.ended_at for item in manager.list() if item.session_id == session_id]
    assert ended is not None
    return time.time() - datetime.fromisoformat(ended).timestamp()
