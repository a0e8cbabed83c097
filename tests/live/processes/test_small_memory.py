"""Shared memory of 16 MB, as containers have it: the program goes on, and every event is kept or counted."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import filesystems, processes
from support.sessions import Build
from support.wait import wait_until

import strobe
from strobe.model import EventFilter, LaunchSpec, TextMatch, TraceRequest
from strobe.report import chrome_trace
from strobe.session import SessionManager
from strobe.timeline import placement

CALLS = 1_000_000


@pytest.fixture
def small_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A tmpfs of 16 MB that stands for /dev/shm: others have taken the rest since its room was asked for."""
    mounted = tmp_path / "shm"
    mounted.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", mounted], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {done.stderr.strip()}")
    monkeypatch.setattr(placement, "SHARED_MEMORY", mounted)
    monkeypatch.setattr(placement, "_free_bytes", lambda folder: 1 << 40)
    yield mounted
    subprocess.run(["umount", "-l", mounted], check=True, timeout=60)


@pytest.mark.parametrize("form", ["native", "portable"])
def test_a_full_file_system_ends_no_program_and_hides_no_event(
    build_program: Build, small_memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("million", "-O2")
    with strobe.launch([program], trace=["counted::f"], sampling="off", home=tmp_path / "home") as run:
        assert run.wait(60).code == 0
        assert list(small_memory.iterdir())
        (group,) = run.totals()
        loss = run.loss
        kept = run.query(EventFilter(function=TextMatch(equals="counted::f"), limit=1)).total_count
    assert (group.count, group.completed) == (CALLS, CALLS)
    assert loss.evicted > 0
    assert kept > 100_000
    assert kept + loss.total == 2 * CALLS


@pytest.mark.parametrize("form", ["native", "portable"])
def test_calls_that_no_total_has_room_for_are_told(
    build_program: Build, small_memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """And that ends when there is room again."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    source = tmp_path / "pipe"
    os.mkfifo(source)
    program = build_program("calls_in_new_threads", "-O2")
    with strobe.launch([program, source], trace=["called"], sampling="off", home=tmp_path / "home") as run:
        threads = 0
        with source.open("wb", buffering=0) as pipe:

            def call(count: int) -> None:
                nonlocal threads
                pipe.write(b"." * count)
                threads += count
                wait_until(lambda: run.stdout.count("done") == threads, "the threads to end")

            call(2)
            assert run.loss.in_no_total == 0
            filler = filesystems.fill(small_memory)
            call(150)
            untold = run.loss.in_no_total
            assert untold > 0
            assert run.totals()[0].count + untold == 10_000 * threads
            exported = json.loads("".join(chrome_trace.document(run._session, newest=1)))
            assert exported["otherData"]["missing"]["inNoTotal"] == untold
            filler.unlink()
            counted = run.totals()[0].count

            def is_counted() -> bool:
                call(1)
                return run.totals()[0].count > counted

            wait_until(is_counted, "a thread to be counted")
            assert run.totals()[0].count + run.loss.in_no_total == 10_000 * threads
        assert run.wait(60).code == 0


def test_a_session_without_room_leaves_nothing_to_the_next(
    manager: SessionManager, build_program: Build, small_memory: Path
) -> None:
    """Its last attempts at a chunk, by its own clock, are not those of the next session."""
    with subprocess.Popen([build_program("steady")], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            spec = LaunchSpec("", pid=process.pid)
            session = manager.launch(spec, TraceRequest(["no_such_function"]))
            filler = filesystems.fill(small_memory)
            session.trace(TraceRequest(["steady_two"]))
            begun = time.monotonic()
            wait_until(lambda: session.timeline.loss().lost > 0, "events to be lost")
            wait_until(lambda: time.monotonic() > begun + 3, "its clock to be far ahead")
            session.stop()
            filler.unlink()
            session = manager.launch(spec, TraceRequest(["steady_two"]))
            called = EventFilter(function=TextMatch(equals="steady_two"), limit=1)
            wait_until(lambda: session.query(called).total_count, "its events")
            assert session.timeline.loss().lost == 0
            session.stop()
        finally:
            processes.end(process)
