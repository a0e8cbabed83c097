"""A session whose disk, database or segment fails under it goes on, ends, and says so; no other one is affected."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
from support import databases, filesystems, leftovers, processes, programs
from support.sessions import Build, Launch, text, totals
from support.wait import wait_until

from strobe.capture import target
from strobe.errors import StrobeError
from strobe.model import EventFilter, LaunchSpec, TextMatch, TraceRequest
from strobe.session import Session, SessionManager

LINES = [b"%d %s\n" % (number, b"x" * 100) for number in range(2000)]


class Cat:
    """A program whose output is what the test writes."""

    def __init__(self, session: Session, pipe: IO[bytes]) -> None:
        self.session = session
        self._pipe = pipe

    def says(self, lines: list[bytes]) -> None:
        self._pipe.write(b"".join(lines))
        self._pipe.flush()

    def ends(self) -> None:
        self._pipe.close()


@pytest.fixture
def small_home(strobe_home: Path, tmp_path: Path) -> Iterator[Path]:
    """Kept symbols lie elsewhere: a file of them that could not be written whole would give room back to the rest."""
    symbols = tmp_path / "symbols"
    symbols.mkdir(mode=0o700)
    with filesystems.small(strobe_home, 8 << 20):
        (strobe_home / "symbols").symlink_to(symbols)
        yield strobe_home


@pytest.fixture
def cat(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Cat]]:
    """`cat()` starts one."""
    started: list[Cat] = []

    def start() -> Cat:
        launch: Launch = request.getfixturevalue("launch")
        source = tmp_path / "pipe"
        os.mkfifo(source)
        session = launch(programs.require("cat"), str(source), patterns=["no_such_function"])
        started.append(Cat(session, source.open("wb")))
        return started[-1]

    yield start
    for one in started:
        one.ends()


def test_lines_that_a_full_disk_refuses_come_later(small_home: Path, cat: Callable[[], Cat]) -> None:
    program = cat()
    filler = filesystems.fill(small_home)
    program.says(LINES)
    wait_until(lambda: program.session.timeline.loss().unwritten == len(LINES), "all lines to be refused")
    page = program.session.query(EventFilter(event_type="stdout"))  # no failure
    assert page.total_count == 0
    assert page.loss.unwritten_reason == "database or disk is full"
    assert page.absence is not None
    assert page.absence.startswith("Nothing can be said of that yet: 2000 lines of output")
    filler.unlink()
    wait_until(lambda: program.session.timeline.loss().unwritten == 0, "the lines to be written")
    program.says([b"more\n"])
    program.ends()
    status = program.session.wait(60)
    assert status is not None and status.code == 0
    assert text(program.session, "stdout").encode() == b"".join(LINES) + b"more\n"
    assert program.session.failures == ()


def test_a_program_that_ends_while_the_disk_is_full(
    small_home: Path, manager: SessionManager, cat: Callable[[], Cat]
) -> None:
    program = cat()
    filler = filesystems.fill(small_home)
    program.says(LINES)
    program.ends()
    status = program.session.wait(60)
    assert status is not None and status.code == 0
    assert any("could not be written: database or disk is full" in said for said in program.session.failures)
    ended = program.session.ended()
    assert ended is not None and ended.exit_code == 0
    assert [(one.status, one.exit_code) for one in manager.list()] == [("exited", 0)]
    assert program.session.summary().status == "running"  # in the record
    assert set(program.session.failures) <= set(program.session.warnings)
    filler.unlink()
    wait_until(lambda: program.session.summary().status == "exited", "the end in the session's record")
    assert program.session.summary().exit_code == 0
    assert text(program.session, "stdout").encode() == b"".join(LINES)


def test_a_database_that_another_process_writes_for_seconds(
    strobe_home: Path, manager: SessionManager, cat: Callable[[], Cat]
) -> None:
    program = cat()
    with databases.locked(strobe_home):
        program.says(LINES)
        wait_until(lambda: program.session.timeline.loss().unwritten == len(LINES), "all lines to be refused")
        assert manager.list()[0].status == "running"  # reading goes on
    assert text(program.session, "stdout").encode() == b"".join(LINES)
    program.ends()
    status = program.session.wait(60)
    assert status is not None and status.code == 0
    assert program.session.failures == ()


@pytest.mark.long
def test_a_function_that_is_untraced_while_the_database_is_locked(
    strobe_home: Path, launch: Launch, build_program: Build, build_plugin: Build
) -> None:
    """Until it is written that its calls are no longer recorded, nothing is said of their absence."""
    session = launch(build_program("dlopens"), str(build_plugin()), "keep", patterns=["plugin_*"])
    wait_until(lambda: "plugin_helper" in totals(session), "calls")
    with databases.locked(strobe_home):
        with contextlib.suppress(StrobeError):  # the list of patterns could not be written
            session.trace(TraceRequest(remove=["plugin_*"]))
        last = session.query(EventFilter(limit=1)).total_count
        moment = session.timeline.moment()[1]
        wanted = EventFilter(function=TextMatch(equals="plugin_helper"), time_from=moment)
        wait_until(lambda: session.timeline.loss().unwritten > 0, "a failed attempt")
        page = session.query(wanted)
        assert page.total_count == 0
        assert page.absence is not None
        assert page.absence.startswith("This does not prove that it did not happen. What was traced lately could not")
    wait_until(lambda: session.timeline.loss().unwritten == 0, "the change to be written")
    absence = session.query(wanted).absence
    assert absence is not None and "not traced" in absence, absence
    assert session.query(EventFilter(limit=1)).total_count == last
    os.kill(session.pid, signal.SIGUSR1)
    status = session.wait(60)
    assert status is not None and status.code == 0


@pytest.mark.long
def test_a_program_that_ends_while_another_process_writes_the_database(
    strobe_home: Path, cat: Callable[[], Cat]
) -> None:
    program = cat()
    with databases.locked(strobe_home):
        program.says([b"one\n"])
        program.ends()
        status = program.session.wait(60)
        assert status is not None and status.code == 0
        assert any("database is locked" in said for said in program.session.failures)
    wait_until(lambda: program.session.summary().status == "exited", "the end in the session's record")
    assert text(program.session, "stdout") == "one\n"


def test_a_segment_that_is_removed_while_the_program_runs(strobe_home: Path, cat: Callable[[], Cat]) -> None:
    program = cat()
    for segment in leftovers.segments(strobe_home):
        segment.unlink()
    program.says([b"one\n"])
    program.ends()
    assert program.session.wait(60) is not None
    program.session.stop()


class Wait:
    """Of a program's end: fails once it is told to."""

    def __init__(self) -> None:
        self.fails = threading.Event()

    def __call__(self, *_: object) -> bool:
        assert self.fails.wait(60)
        raise OSError(errno.ENOMEM, "Cannot allocate memory")


def test_a_wait_for_the_end_that_fails_ends_the_session_and_leaves_the_program(
    build_program: Build, manager: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = Wait()
    monkeypatch.setattr("strobe.capture.target.wait_unless", wait)
    with subprocess.Popen([build_program("attached")], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            session = manager.launch(
                LaunchSpec("", pid=process.pid, project_root=str(programs.PROGRAMS)), TraceRequest(["*"])
            )
            wait_until(lambda: "step" in totals(session), "calls")
            wait.fails.set()
            assert session.wait(60) is not None
            assert any("wait for the program's end has failed" in said for said in session.failures)
            maps = Path(f"/proc/{process.pid}/maps")
            wait_until(lambda: session.id not in maps.read_text(), "the recorder to be off")
            process.send_signal(signal.SIGUSR1)
            assert process.communicate(timeout=60)[0] == "parent right\n"
        finally:
            processes.end(process)


@pytest.mark.parametrize(
    ("watched", "what"),
    [
        ("end_with_last_thread", "Its end with its last thread has failed: no memory"),
        ("follow_lone_calls", "Leaving it before calls that need that has failed: no memory"),
    ],
)
def test_a_watch_that_fails_is_told(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, watched: str, what: str
) -> None:
    """The log alone had it, though the program may wait for what does not come."""

    def fail(*_: object) -> None:
        raise OSError("no memory")

    monkeypatch.setattr(target, watched, fail)
    session = launch(build_program("hello"), patterns=["*"])
    session.wait(60)
    wait_until(lambda: any(text.startswith(what) for text in session.warnings), "the warning")
