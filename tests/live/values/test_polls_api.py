"""Polls in the Python API: samples one after the other, as they come."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from support.wait import wait_until

import strobe
from strobe import StrobeError
from strobe.model import Event, EventFilter


@pytest.fixture
def program(build_program: Callable[..., Path]) -> Path:
    return build_program("polled", "-O1")


def test_the_python_api_gives_each_sample(program: Path) -> None:
    with strobe.launch([program]) as run:
        wait_until(lambda: "ready" in run.stdout, "the program to be ready")
        polling = run.poll(["gTempo", "*gChosen", "gVoice"], interval=0.05, duration=0.5)
        samples = list(polling)
        assert len(samples) == polling.expected - polling.missed
        assert polling.ended_by == "duration"
        assert [sample.timestamp_ns for sample in samples] == [event.timestamp_ns for event in _recorded(run)]
        assert {(sample["gTempo"], sample["*gChosen"], sample["gVoice"].note) for sample in samples} == {(120, 7, -7)}
        assert list(polling) == []
        os.kill(run.pid, signal.SIGUSR2)
        wait_until(lambda: not run.read("gChosen"), "the pointer to be null")
        (sample, *_) = run.poll("*gChosen", duration=0.1)
        assert sample.values == {}
        with pytest.raises(StrobeError, match="Null pointer at gChosen"):
            sample["*gChosen"]


def _recorded(run: strobe.ProgramSession) -> list[Event]:
    return list(run.events(EventFilter(event_type="variable_snapshot")))


def test_the_python_api_ends_early(program: Path) -> None:
    with strobe.launch([program]) as run:
        wait_until(lambda: "ready" in run.stdout, "the program to be ready")
        stopped = run.poll("gCount", duration=30)
        next(stopped)
        stopped.stop()
        assert stopped.ended_by == "stopped"
        ended = run.poll("gCount", duration=30)
        next(ended)
        os.kill(run.pid, signal.SIGUSR1)
        assert len(list(ended)) < ended.expected
        assert ended.ended_by == "program"


@pytest.mark.parametrize(
    ("variables", "options", "text"),
    [
        ("gTempo", {"interval": 0.049}, "'intervalMs' is 49"),
        ("gTempo", {"interval": 5.001}, "'intervalMs' is 5001"),
        ("gTempo", {"duration": 0.099}, "'durationMs' is 99"),
        ("gTempo", {"duration": 30.001}, "'durationMs' is 30001"),
        ("gTempo", {"depth": 6}, "'depth' is 6"),
        ([], {}, "'variables' is 0"),
        ([f"gVoice.name[{at}]" for at in range(17)], {}, "'variables' is 17"),
        (["gTempo", "gTemp"], {}, "Variable 'gTemp' not found"),
    ],
)
def test_what_the_python_api_refuses(
    program: Path, variables: str | list[str], options: dict[str, float], text: str
) -> None:
    with strobe.launch([program]) as run:
        with pytest.raises(StrobeError, match=text.replace("[", r"\[")):
            run.poll(variables, **options)  # type: ignore[arg-type]
        assert _recorded(run) == []
