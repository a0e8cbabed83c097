"""Many more calls than a segment holds, from two threads: totals exact, every event accounted for, memory flat.

20 million calls always, a billion of them, which take a minute or two, with STROBE_BIG_CALLS=1.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest
from support.sessions import Build, untraced

import strobe
from strobe.model import EventFilter, TextMatch
from strobe.resources import TIMELINE_EXTENSION
from strobe.timeline.store import Store

MANY, ALL = 20_000_000, 1_000_000_000
RUN_SECONDS = 900
SAMPLE_SECONDS = 0.5
MOST_GROWTH_KB = 4096
big = pytest.mark.skipif(os.environ.get("STROBE_BIG_CALLS") != "1", reason="takes minutes: STROBE_BIG_CALLS=1")


@dataclass(frozen=True, slots=True)
class Memory:
    """At one moment, in KB: of the program and of this process what is resident, in all and anonymous; the segment."""

    program: int
    program_anonymous: int
    host: int
    host_anonymous: int
    segment: int

    @staticmethod
    def now(pid: int, segment: Path) -> Memory | None:
        """None where the program has ended."""
        try:
            program = _resident(pid)
        except (OSError, LookupError):  # gone, or a zombie
            return None
        return Memory(*program, *_resident(os.getpid()), segment.stat().st_blocks // 2)


def _resident(pid: int) -> tuple[int, int]:
    """Raises LookupError for a process that has no memory any more."""
    found = dict(re.findall(r"(VmRSS|RssAnon):\s+(\d+)", Path(f"/proc/{pid}/status").read_text()))
    return int(found["VmRSS"]), int(found["RssAnon"])


def segment_of(session_id: str) -> Path:
    store = Store()
    try:
        return store.get_session(session_id).segment_path
    finally:
        store.close()


def followed(run: strobe.api.ProgramSession, segment: Path) -> list[Memory]:
    """Memory at moments after the segment was full, until the program has ended."""
    samples: list[Memory] = []
    end = time.monotonic() + RUN_SECONDS
    while time.monotonic() < end:
        try:
            assert run.wait(SAMPLE_SECONDS).code == 0
            return samples
        except TimeoutError:
            sample = Memory.now(run.pid, segment)
        if sample is not None and run.loss.evicted > 0:
            samples.append(sample)
    raise AssertionError(f"not done within {RUN_SECONDS} s")


def assert_flat(samples: list[Memory]) -> None:
    """What is anonymous and the segment do not grow; shared pages are at most the whole segment."""
    first = samples[0]
    print(f"memory in KB, {len(samples)} times:", *samples[:: max(1, len(samples) // 10)], samples[-1], sep="\n")
    for sample in samples:
        assert sample.program_anonymous <= first.program_anonymous + MOST_GROWTH_KB, samples
        assert sample.host_anonymous <= first.host_anonymous + MOST_GROWTH_KB, samples
        assert sample.segment <= first.segment + MOST_GROWTH_KB, samples
        assert sample.program <= first.program_anonymous + first.segment + 32 * 1024
        assert sample.host <= first.host + first.segment


def histogram_sums(segment: Path) -> list[tuple[int, int]]:
    """(exits, sum of the histogram) of each function in each thread."""
    connection = apsw.Connection(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(str(TIMELINE_EXTENSION))
    rows: list[Any] = connection.execute("select exits, histogram from strobe_totals(?)", (str(segment),)).fetchall()
    connection.close()
    return [(exits, sum(memoryview(histogram).cast("I"))) for exits, histogram in rows]


@pytest.mark.timeout(RUN_SECONDS + 100)
@pytest.mark.parametrize("calls", [MANY, pytest.param(ALL, marks=big)])
def test_more_calls_than_room(build_program: Build, strobe_home: Path, calls: int) -> None:
    program = build_program("billion", "-O2")
    with strobe.launch([program, str(calls)], trace=["step", "turn"], sampling="off", home=strobe_home) as run:
        segment = segment_of(run.id)
        samples = followed(run, segment)
        assert run.stdout == untraced(program, str(calls)).stdout
        groups = {group.key: group for group in run.totals()}
        loss = run.loss
        assert {name: (group.count, group.completed) for name, group in groups.items()} == {
            "step": (calls * 3 // 4, calls * 3 // 4),
            "turn": (calls // 4, calls // 4),
        }
        assert loss.total == loss.evicted > 0
        kept = 0
        for name, group in groups.items():
            wanted = EventFilter(event_type="function_enter", function=TextMatch(equals=name), limit=1)
            enters = run.query(wanted).total_count
            assert enters + group.evicted == group.count
            assert 0 <= group.min_ns <= group.p50_ns <= group.p99_ns <= group.max_ns <= group.total_ns
            kept += run.query(EventFilter(function=TextMatch(equals=name), limit=1)).total_count
        assert kept + loss.total == 2 * calls
        sums = histogram_sums(segment)
        assert len(sums) == 4
        assert all(exits == total for exits, total in sums)
        assert sum(exits for exits, _ in sums) == calls
        if calls == ALL:
            assert_flat(samples)
