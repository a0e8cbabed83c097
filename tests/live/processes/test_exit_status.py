"""However a program ends, its status is right: every time, so each way is taken 20 times; 5 times in the short form."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.sessions import Build, Launch, outcome
from support.short_form import short

from strobe.capture import exit_status
from strobe.model import ExitStatus
from strobe.session import SessionManager

ROUNDS = short(20, 5)

# arguments of `exits` -> status (negative: signal)
ENDS = {
    "return 0": 0,
    "return 7": 7,
    "exit 255": 255,
    "_exit 3": 3,
    "quick_exit 4": 4,
    "thread 5": 5,
    "thread-last 6": 6,
    "raise 15": -signal.SIGTERM,
    "kill 9": -signal.SIGKILL,
    "kill 2": -signal.SIGINT,
    "abort": -signal.SIGABRT,
    "segv": -signal.SIGSEGV,
    "fpe": -signal.SIGFPE,
    "trap": -signal.SIGILL,
}


def statuses(
    launch: Launch, program: object, arguments: Sequence[str], patterns: Sequence[str]
) -> set[tuple[str, int]]:
    """The different (standard output, status) of many runs."""
    found = set()
    for _ in range(ROUNDS):
        session = launch(program, *arguments, patterns=patterns)
        ended = outcome(session)
        session.stop()
        found.add((ended.stdout, ended.status))
    return found


@pytest.mark.parametrize("end", ENDS)
def test_status_is_right_every_time(launch: Launch, build_program: Build, end: str) -> None:
    program = build_program("exits", "-O0")
    assert statuses(launch, program, end.split(), ["*"]) == {("here\n", ENDS[end])}


def test_status_without_a_trace(launch: Launch, build_program: Build) -> None:
    program = build_program("exits", "-O0")
    assert statuses(launch, program, ["return", "9"], []) == {("here\n", 9)}


@pytest.mark.parametrize("end", ["return 7", "_exit 3", "quick_exit 4", "thread 5", "kill 9"])
def test_the_program_itself_says_where_the_kernel_does_not(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """Linux before 6.15, and a parent that was not asked in time. What a signal ends has said nothing."""
    monkeypatch.setattr(exit_status, "_by_waitid", lambda *_: None)
    monkeypatch.setattr(exit_status, "_by_kernel", lambda pidfd: exit_status._has_ended(pidfd, None) and None)
    ended = launch(build_program("exits", "-O0"), *end.split(), patterns=["*"]).wait(60)
    assert ended is not None
    assert ended.code == (ENDS[end] if ENDS[end] >= 0 else None)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGRTMIN, signal.SIGRTMIN + 6, signal.SIGRTMAX])
def test_the_record_has_the_signal(launch: Launch, strobe_home: Path, build_program: Build, number: int) -> None:
    session = launch(build_program("exits", "-O0"), "kill", str(number), patterns=["*"])
    ended = session.wait(60)
    session.stop(retain=True)
    with contextlib.closing(SessionManager(strobe_home)) as later:
        assert later.get(session.id).wait() == ended == ExitStatus(signal=number)
