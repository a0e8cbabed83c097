"""A thread that is interrupted in the middle of a record: who asks for what is new again and again misses nothing."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from support.sessions import Build, Launch, all_events
from support.wait import wait_until

from strobe.model import EventFilter, Watch

PAGES = 30
TRIES = 300
FORMS = pytest.mark.parametrize("form", ["native", "portable"])
SLOW = "(() => { const end = Date.now() + 20; while (Date.now() < end); return retval; })()"


@FORMS
def test_none_is_missed(launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """The record of a return has its time before the script runs, and others are made meanwhile."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    watch = [Watch(expr=SLOW, label="late", on=("slow",))]
    session = launch(build_program("at_work"), patterns=["slow", "quick"], sampling="off", watch=watch)
    wait_until(lambda: bool(session.tail(0)), "calls", 20)
    seen: list[str] = []
    for _ in range(PAGES):
        seen += [event.id for event in session.tail(number(seen[-1]) if seen else 0)]
        time.sleep(0.003)
    expected = [event.id for event in all_events(session, EventFilter()) if number(event.id) <= number(seen[-1])]
    assert seen == expected
    slow = [event for event in all_events(session, EventFilter()) if event.function == "slow"]
    assert len(slow) > 10


@FORMS
def test_what_a_stopped_thread_is_about_is_not_said_to_be_recorded(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    session = launch(build_program("line_ends"), patterns=["at_*"])
    wait_until(lambda: bool(session.tail(0, 10)), "calls", 20)
    for _ in range(TRIES):
        os.kill(session.pid, signal.SIGSTOP)
        wait_until(lambda: is_stopped(session.pid), "it to stop", 20)
        far = 1 << 40
        written = session.written_until(far)
        os.kill(session.pid, signal.SIGCONT)
        if written < far:
            break
    else:
        pytest.fail("no thread was interrupted in the middle of a record")
    assert session.written_until(written + 1) == written + 1


def is_stopped(pid: int) -> bool:
    tasks = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(text.rpartition(") ")[2].startswith("T") for text in tasks)


def number(event_id: str) -> int:
    return int(event_id.rpartition("-")[2])
