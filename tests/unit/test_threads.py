"""Threads and callbacks whose function raises: the owner is told, whatever it is."""

from __future__ import annotations

import logging
import threading

import pytest

from strobe import threads
from strobe.capture import leaving
from strobe.errors import StrobeError, failure


@pytest.mark.parametrize("error", [ValueError("a reason"), MemoryError(), SystemExit(3), KeyboardInterrupt()])
def test_the_owner_gets_whatever_is_raised(error: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    told: list[BaseException] = []

    def work() -> None:
        raise error

    threads.start("worker", work, told.append).join(10)
    assert told == [error]
    assert "worker failed" in caplog.text


def test_an_owner_that_fails_as_well_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a reason")

    threads.guarded("callback", fail, fail)(1, 2)
    assert "the failure of callback could not be handled" in caplog.text
    assert caplog.records[-1].levelno == logging.ERROR


def test_what_goes_well_is_nobodys_business() -> None:
    done = threading.Event()
    told: list[BaseException] = []
    threads.start("worker", done.set, told.append).join(10)
    assert done.is_set() and told == []


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("a reason."), "ValueError: a reason"),
        (MemoryError(), "MemoryError"),
        (FileNotFoundError(2, "No such file or directory", "/x"), "[Errno 2] No such file or directory: '/x'"),
    ],
)
def test_reasons_are_short(error: BaseException, text: str) -> None:
    assert threads.reason(error) == text


def refuse_thread(*_: object, **__: object) -> None:
    raise failure("no_threads", needed="one more thread")


def test_an_agent_leaves_where_there_can_be_no_thread_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "start", refuse_thread)
    done: list[int] = []
    assert leaving.leave(1, lambda: False, lambda: done.append(1), refuse_thread)
    assert done == [1]
    assert leaving._leaving == {}


def test_nobody_waits_for_an_agent_that_cannot_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "start", refuse_thread)
    with pytest.raises(StrobeError, match="thread"):
        leaving.leave(1, lambda: True, lambda: None, refuse_thread)
    assert leaving._leaving == {}
