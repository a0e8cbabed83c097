"""Shared memory of 16 MB, as containers have it: the program goes on, and every event is kept or counted."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sessions import Build

import strobe
from strobe.model import EventFilter, TextMatch
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
