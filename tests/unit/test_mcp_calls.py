"""Calls under way: bounded in time and number, answered at most once."""

from __future__ import annotations

import queue
import threading
from typing import Any

import pytest

from strobe.mcp.calls import Call, Calls

WAIT_SECONDS = 60.0


class Answers:
    """What a call was answered with, and that it was closed."""

    def __init__(self) -> None:
        self.results: queue.Queue[dict[str, Any]] = queue.Queue()
        self.closed = threading.Event()

    def call(self) -> Call:
        return Call(self.results.put, self.closed.set)

    def text(self) -> str:
        text: str = self.results.get(timeout=WAIT_SECONDS)["content"][0]["text"]
        return text


@pytest.fixture
def answers() -> Answers:
    return Answers()


def test_a_call_that_takes_too_long_is_answered_at_the_limit_and_only_then(answers: Answers) -> None:
    finish = threading.Event()
    done = threading.Event()

    def work() -> dict[str, Any]:
        finish.wait(WAIT_SECONDS)
        done.set()
        return {"content": [{"type": "text", "text": "late"}]}

    Calls(limit_s=0.05).start("debug_launch", work, answers.call())
    assert answers.text().startswith("LIMIT_REACHED: debug_launch did not finish within 0.05 s")
    assert answers.closed.wait(WAIT_SECONDS)
    finish.set()
    assert done.wait(WAIT_SECONDS)
    assert answers.results.empty()


def test_a_cancelled_call_goes_on_without_an_answer(answers: Answers) -> None:
    finish = threading.Event()
    done = threading.Event()

    def work() -> dict[str, Any]:
        finish.wait(WAIT_SECONDS)
        done.set()
        return {}

    call = answers.call()
    Calls().start("debug_launch", work, call)
    call.cancel()
    assert answers.closed.wait(WAIT_SECONDS)
    finish.set()
    assert done.wait(WAIT_SECONDS)
    assert answers.results.empty()


def test_one_call_too_many_is_refused_and_the_place_is_free_again(answers: Answers) -> None:
    calls = Calls(max_running=1)
    finish = threading.Event()

    def work() -> dict[str, Any]:
        finish.wait(WAIT_SECONDS)
        return {"content": [{"type": "text", "text": "done"}]}

    calls.start("debug_query", work, answers.call())
    calls.start("debug_query", work, answers.call())
    assert answers.text().startswith("LIMIT_REACHED: 1 calls are already running.")
    finish.set()
    assert answers.text() == "done"
