"""Segments through the bindings: made, read, damaged."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from strobe import _core, _synthetic

ENTER, EXIT = 1, 2


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "segment")


def test_a_new_segment(path: str) -> None:
    _core.create_segment(path, 1_000_000)
    status = Path(path).stat()
    assert status.st_mode & 0o777 == 0o600
    assert status.st_blocks * 512 <= 3 * 2**20 < status.st_size
    segment = _core.Segment(path)
    assert segment.clock_kind == _core.clock_kind()
    assert segment.chunk_count * 65536 >= 1_000_000 * 32
    assert segment.threads() == []
    assert segment.tail(0, 10) == []
    assert segment.exit_state() == (0, 0)
    assert segment.loss() == {
        "evicted": 0,
        "evicted_until_ns": -1,
        "event_bytes": 0,
        "sampled_out": 0,
        "lost_no_thread": 0,
        "lost_no_clock": 0,
        "lost_reentrant": 0,
        "lost_no_chunk": 0,
        "lost_no_totals": 0,
    }


def test_a_second_one_in_the_same_place_is_refused(path: str) -> None:
    _core.create_segment(path, 1000)
    with pytest.raises(FileExistsError, match="segment"):
        _core.create_segment(path, 1000)


def test_time_is_that_of_the_monotonic_clock(path: str) -> None:
    _core.create_segment(path, 1000)
    segment = _core.Segment(path)
    before = time.monotonic_ns()
    now_ns = segment.to_ns(segment.now_ticks())
    after = time.monotonic_ns()
    tolerance_ns = 200_000
    assert before - tolerance_ns <= segment.start_monotonic_ns + now_ns <= after + tolerance_ns


@pytest.mark.parametrize("ns", [0, 1, 999, 10**9, 3_600 * 10**9])
def test_bounds_on_ticks_are_exact(path: str, ns: int) -> None:
    _core.create_segment(path, 1000)
    segment = _core.Segment(path)
    first, last = segment.ticks_from_ns(ns), segment.ticks_until_ns(ns)
    assert segment.to_ns(first) >= ns
    assert first == 0 or segment.to_ns(first - 1) < ns
    assert segment.to_ns(last) <= ns < segment.to_ns(last + 1)


def test_what_was_written_is_read(path: str) -> None:
    _synthetic.write_calls(path, calls=3, threads=1, functions=2)
    segment = _core.Segment(path)
    assert segment.threads() == [(0, 4242, 4242, "worker-0")]
    events = segment.tail(0, 100)
    outline = [
        (kind, function, depth, returned, arguments) for _, kind, function, depth, *_, returned, arguments, _ in events
    ]
    assert outline == [
        (ENTER, 1, 0, None, (1, 0)),
        (ENTER, 2, 1, None, (2, 1)),
        (ENTER, 1, 2, None, (3, 2)),
        (EXIT, 1, 2, 1, (1,)),
        (EXIT, 2, 1, 2, (2,)),
        (EXIT, 1, 0, 1, (1,)),
    ]
    times = [event[6] for event in events]
    durations = [event[7] for event in events]
    assert durations[:3] == [None, None, None]
    assert [times[i] - times[5 - i] for i in (3, 4, 5)] == pytest.approx(durations[3:], abs=1)


def test_the_tail_goes_on_after_its_last_event(path: str) -> None:
    _synthetic.write_calls(path, calls=2_500, threads=3)
    segment = _core.Segment(path)
    numbers: list[int] = []
    while events := segment.tail(numbers[-1] if numbers else 0, 700):
        numbers += [event[0] for event in events]
    assert len(numbers) == 5_000
    assert numbers == sorted(set(numbers))
    assert {number & 1023 for number in numbers} == {1, 2, 3}
    assert segment.tail(2**64 - 1, 10) == []


def test_young_events_wait_until_they_have_settled(path: str) -> None:
    _synthetic.write_calls(path, calls=10)
    segment = _core.Segment(path)
    assert len(segment.tail(0, 100, settle_ns=0)) == 20
    assert segment.tail(0, 100, settle_ns=3_600 * 10**9) == []


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", "too short"),
        (b"\x7fELF" + bytes(5_000), "not a segment"),
        (bytes(100_000), "not a segment"),
    ],
    ids=["empty", "another file", "zeros"],
)
def test_what_is_no_segment_is_refused(path: str, content: bytes, error: str) -> None:
    Path(path).write_bytes(content)
    with pytest.raises(ValueError, match=error):
        _core.Segment(path)


def test_missing_and_wrong_files(path: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="segment"):
        _core.Segment(path)
    with pytest.raises((OSError, ValueError)):
        _core.Segment(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        _core.create_segment(str(tmp_path / "no such folder" / "segment"), 1000)


def test_a_cut_off_segment_gives_what_is_left(path: str) -> None:
    _synthetic.write_calls(path, calls=5_000)
    whole = len(_core.Segment(path).tail(0, 100_000))
    chunks_begin = Path(path).stat().st_size - _core.Segment(path).chunk_count * 65536
    os.truncate(path, chunks_begin + 65536)
    part = len(_core.Segment(path).tail(0, 100_000))
    assert 0 < part < whole == 10_000


def test_a_segment_outlives_its_file(path: str) -> None:
    _synthetic.write_calls(path, calls=10)
    segment = _core.Segment(path)
    Path(path).unlink()
    assert len(segment.tail(0, 100)) == 20


def test_threads_share_a_segment(path: str) -> None:
    _synthetic.write_calls(path, calls=20_000, threads=2)
    segment = _core.Segment(path)
    found: list[int] = []
    readers = [threading.Thread(target=lambda: found.append(len(segment.tail(0, 100_000)))) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(30)
    assert found == [40_000] * 4
