"""Somebody cuts a segment short, or puts another file in its place: each query says so, and nothing else is harmed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.timelines import PID, WrittenSession

from strobe import _core
from strobe.errors import StrobeError
from strobe.model import EventFilter, TextMatch
from strobe.timeline import placement

MakeSession = Callable[..., WrittenSession]

QUESTIONS: dict[str, Callable[[WrittenSession], object]] = {
    "query": lambda session: session.timeline.query(EventFilter()),
    "a function": lambda session: session.timeline.query(EventFilter(function=TextMatch(equals="app::main"))),
    "totals": lambda session: session.timeline.totals(EventFilter(), "function"),
    "totals of a time": lambda session: session.timeline.totals(EventFilter(time_from=1), "thread"),
    "tail": lambda session: session.timeline.tail(0),
    "loss": lambda session: session.timeline.loss(),
    "sql": lambda session: session.timeline.sql("select count(*) from events"),
}

# In a process of its own, which a SIGBUS would end: maps of the Python module and of the SQLite extension by turns.
BY_TURNS = """
import os, sys, mmap
from pathlib import Path
from support.timelines import PID, new_session
from strobe import _core
from strobe.errors import StrobeError
from strobe.model import EventFilter
for turn in range(6):
    session = new_session(Path(sys.argv[1]) / str(turn))
    thread = session.writer.thread(PID, PID, "main")
    for _ in range(5000):
        session.call(thread, 1)
    session.end()
    assert session.timeline.query(EventFilter()).total_count == 10000
    own = _core.Segment(str(session.path))
    for size in (turn * 4096 * 30 + 100, 0) if turn % 2 else (0,):
        os.truncate(session.path, size)
        for _ in range(3):
            try:
                session.timeline.query(EventFilter())
                sys.exit("no error")
            except StrobeError as error:
                assert "truncated" in str(error) or "too short" in str(error), error
        assert own.damage()
        own.tail(0, 100)
    session.timeline.close()
    session.store.close()
print("alive", flush=True)
if len(sys.argv) > 2:  # a fault in another's map ends the process, as it would without us
    with open(sys.argv[2], "wb+") as file:
        file.truncate(4096)
        other = mmap.mmap(file.fileno(), 4096)
        file.truncate(0)
        other[0]
"""


def filled(session: WrittenSession) -> WrittenSession:
    thread = session.writer.thread(PID, PID, "main")
    for _ in range(5_000):
        session.call(thread, 1)
    session.end()
    return session


@pytest.mark.parametrize("asked", QUESTIONS)
def test_a_question_about_a_segment_that_was_cut_short(make_session: MakeSession, asked: str) -> None:
    whole, session = filled(make_session()), filled(make_session())
    QUESTIONS[asked](session)
    before = session.path.with_name("before")
    placement.copy_sparse(session.path, before)
    os.truncate(session.path, 100_000)
    for _ in range(2):
        with pytest.raises(StrobeError, match="truncated"):
            QUESTIONS[asked](session)
        QUESTIONS[asked](whole)
    os.truncate(session.path, 0)
    with pytest.raises(StrobeError, match=r"truncated|too short"):
        QUESTIONS[asked](session)
    session.path.unlink()
    before.rename(session.path)
    QUESTIONS[asked](session)


def by_turns(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    tests = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-c", BY_TURNS, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(tests)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)


def test_no_cut_of_many_ends_the_process(tmp_path: Path) -> None:
    ended = by_turns(tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "alive\n"), ended.stderr


def test_a_fault_that_is_not_of_a_segment_is_left_to_the_system(tmp_path: Path) -> None:
    ended = by_turns(tmp_path, tmp_path / "other")
    assert (ended.returncode, ended.stdout) == (-7, "alive\n"), ended.stderr


def test_a_segment_is_never_what_a_link_leads_to(make_session: MakeSession, tmp_path: Path) -> None:
    path = filled(make_session()).path
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(OSError, match="link"):
        _core.Segment(str(link))
    with pytest.raises(OSError, match="link"):
        _core.end_recording(str(link))
    with pytest.raises(FileExistsError):
        _core.create_segment(str(link), 1000)


def test_nor_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="not a regular file"):
        _core.Segment(str(tmp_path / "pipe"))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_nor_a_file_of_another_user(make_session: MakeSession) -> None:
    path = filled(make_session()).path
    os.chown(path, 65534, 65534)
    for use in (_core.Segment, _core.end_recording, _core.release_memory):
        with pytest.raises(ValueError, match="another user"):
            use(str(path))
