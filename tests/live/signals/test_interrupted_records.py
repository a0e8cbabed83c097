"""A thread is interrupted in the middle of a record: who asks again and again for what is new misses none of it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from support.sessions import Build, Launch, all_events, outcome, totals
from support.wait import wait_until

from strobe.model import EventFilter, Watch
from strobe.session import Session
from strobe.timeline import query

PAGES = 30
TRIES = 300
FAR = 1 << 40
FORMS = pytest.mark.parametrize("form", ["native", "portable"])
SLOW = "(() => { const end = Date.now() + 20; while (Date.now() < end); return retval; })()"


@FORMS
def test_none_is_missed(launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """The record of a return has its time before the script runs, and others are made meanwhile."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    watch = [Watch(expr=SLOW, label="late", on=("slow",))]
    session = launch(build_program("at_work"), patterns=["slow", "quick"], sampling="off", watch=watch)
    wait_until(lambda: bool(session.tail(0)), "calls")
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
    wait_until(lambda: bool(session.tail(0, 10)), "calls")
    for _ in range(TRIES):
        os.kill(session.pid, signal.SIGSTOP)
        wait_until(lambda: is_stopped(session.pid), "it to stop")
        written = session.written_until(FAR)
        os.kill(session.pid, signal.SIGCONT)
        if written < FAR:
            break
    else:
        pytest.fail("no thread was interrupted in the middle of a record")
    assert session.written_until(written + 1) == written + 1


@pytest.mark.parametrize("frame", ["", "large"])
def test_a_handler_that_waits_may_return_to_a_record(launch: Launch, build_program: Build, frame: str) -> None:
    """A large one is not looked through."""
    session = launch(build_program("pauses_in_handlers"), frame, patterns=["step"])
    states = set()
    for _ in range(TRIES):
        before = calls(session)
        wait_until(lambda least=before: calls(session) > least, "calls", 20)
        os.kill(session.pid, signal.SIGUSR2)
        wait_until(lambda: state_of(session.pid) == "S", "it to wait")
        written = session.written_until(FAR)
        os.kill(session.pid, signal.SIGHUP)
        states.add(written < FAR)
        if states == {True, False} or (frame and True in states):
            break
    else:
        pytest.fail(f"seen in the middle of a record: {states}")


def test_a_handler_that_never_returns_does_not_hide_the_rest(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = launch(build_program("pauses_in_handlers"), patterns=["step"])
    for _ in range(TRIES):
        before = calls(session)
        wait_until(lambda least=before: calls(session) > least, "calls", 20)
        os.kill(session.pid, signal.SIGUSR2)
        wait_until(lambda: state_of(session.pid) == "S", "it to wait")
        if session.written_until(FAR) < FAR:
            break
        os.kill(session.pid, signal.SIGHUP)
    else:
        pytest.fail("no record was interrupted")
    after = session.timeline.cursor()
    session.add_event("note", "later")
    assert session.tail(after) == []
    monkeypatch.setattr(query, "MOST_LAG_S", 0.1)
    wait_until(lambda: [event.text for event in session.tail(after)] == ["later"], "what comes later")


def test_a_child_has_no_script_of_its_parents_threads(launch: Launch, build_program: Build) -> None:
    """The recorder that it inherits was copied while another thread ran one."""
    watch = [Watch(expr=SLOW, label="late", on=("slow",))]
    session = launch(build_program("forks_in_scripts"), patterns=["step", "tick", "slow"], watch=watch)
    ended = outcome(session)
    assert ended.status == 0
    assert totals(session)["tick"].count == int(ended.stdout) > 0


def calls(session: Session) -> int:
    found = totals(session).get("step")
    return found.count if found else 0


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


def is_stopped(pid: int) -> bool:
    tasks = [path.read_bytes() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(text.rpartition(b") ")[2].startswith(b"T") for text in tasks)


def number(event_id: str) -> int:
    return int(event_id.rpartition("-")[2])
