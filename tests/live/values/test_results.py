"""Results of functions that only their own file can call, in what LLVM optimized: they are there where a caller uses
them, and nothing is said of the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.sessions import Launch, all_events, text

from strobe.model import EventFilter, TextMatch
from strobe.session import Session

ROUNDS = 10


def returned(session: Session, function: str) -> list[object]:
    wanted = EventFilter(event_type="function_exit", function=TextMatch(equals=function))
    return [event.return_value for event in all_events(session, wanted)]


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_results_of_rust(build_program: Callable[..., Path], launch: Launch, level: int) -> None:
    session = launch(build_program("results", f"-Copt-level={level}"), patterns=["results::*"])
    assert session.wait(60) is not None
    lines = [line.split() for line in text(session, "stdout").splitlines()]
    assert len(lines) == ROUNDS
    assert returned(session, "results::is_even") == [line[0] == "even" for line in lines]
    assert returned(session, "results::half") == [float(line[1]) for line in lines]
    unused = returned(session, "results::unused")
    assert unused == ([3 * number for number in range(ROUNDS)] if level == 0 else [None] * len(unused))
