"""Threads that stand in the first bytes of a function at the moment when its hook is installed."""

from __future__ import annotations

import os
import platform
import select
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import processes
from support.programs import PROGRAMS
from support.sessions import Build, totals
from support.wait import wait_until

from strobe.model import LaunchSpec, TraceRequest
from strobe.session import Session, SessionManager

SECONDS = 60
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="hooks come while it runs on x86-64 alone")


class Conversation:
    """With the program, a byte at a time."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def hear(self) -> bytes:
        """What it says next; b"" when it has said nothing for some time, or has ended."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        return os.read(self.process.stdout.fileno(), 1) if ready else b""

    def say(self, byte: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(byte)


@contextmanager
def conversation(program: Path, mode: str) -> Iterator[Conversation]:
    process = subprocess.Popen([program, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    try:
        spoken = Conversation(process)
        assert spoken.hear() == b"s"
        yield spoken
    finally:
        processes.end(process)


def attach(manager: SessionManager, pid: int, patterns: Sequence[str] = ()) -> Session:
    return manager.launch(LaunchSpec("", pid=pid, project_root=str(PROGRAMS)), TraceRequest(patterns))


def are_waiting(pid: int) -> bool:
    """A thread that has just been made still blocks all signals."""
    return all("\nState:\tS" in (task / "status").read_text() for task in Path(f"/proc/{pid}/task").iterdir())


def blocked_signals(pid: int) -> dict[str, str]:
    """By thread, as the kernel writes them."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        lines = (task / "status").read_text().splitlines()
        found[task.name] = next(line for line in lines if line.startswith("SigBlk"))
    return found


@pytest.mark.parametrize("form", ["native", "portable"])
@pytest.mark.parametrize(
    ("mode", "handlers"),
    [
        ("handler", []),
        ("handler", ["on_fault"]),
        ("alternate", []),
        ("alternate", ["on_fault"]),
        ("elsewhere", []),
    ],
    ids=["handler", "handler traced", "alternate", "alternate traced", "elsewhere"],
)
def test_a_handler_returns_into_a_function_that_was_hooked_meanwhile(
    build_program: Build,
    manager: SessionManager,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    mode: str,
    handlers: list[str],
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    with conversation(build_program("stands_in_entries"), mode) as spoken:
        session = attach(manager, spoken.process.pid, handlers)
        spoken.say(b".")
        assert spoken.hear() == b"h"
        answer = session.trace(TraceRequest(add=["loads"]))
        found = 1 + len(handlers)
        assert (answer.matched_functions, answer.hooked_functions) == (found, found), answer.warnings
        spoken.say(b".")
        assert spoken.hear() == b"r"
        assert spoken.process.wait(SECONDS) == 0
        wait_until(lambda: totals(session).get("loads"), "the call after the handler", SECONDS)
        assert totals(session)["loads"].count == 1  # the first one had begun before


@pytest.mark.parametrize("form", ["native", "portable"])
def test_a_coroutine_that_a_handler_has_suspended_goes_on_in_the_copy(
    build_program: Build, manager: SessionManager, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    with conversation(build_program("stands_in_entries"), "suspended") as spoken:
        session = attach(manager, spoken.process.pid)
        spoken.say(b".")
        assert spoken.hear() == b"h"
        answer = session.trace(TraceRequest(add=["scans"]))
        assert (answer.matched_functions, answer.hooked_functions) == (1, 1), answer.warnings
        spoken.say(b".")
        assert spoken.hear() == b"r"
        assert spoken.process.wait(SECONDS) == 0
        wait_until(lambda: totals(session).get("scans"), "the call after the coroutine", SECONDS)
        assert totals(session)["scans"].count == 1


@pytest.mark.parametrize("form", ["native", "portable"])
def test_a_function_that_waits_in_its_first_bytes_is_refused(
    build_program: Build, manager: SessionManager, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    with conversation(build_program("stands_in_entries"), "waits") as spoken:
        wait_until(lambda: are_waiting(spoken.process.pid), "both threads to wait", SECONDS)
        before = blocked_signals(spoken.process.pid)
        session = attach(manager, spoken.process.pid)
        answer = session.trace(TraceRequest(add=["direct_read", "answer"]))
        assert (answer.matched_functions, answer.hooked_functions) == (2, 1)
        assert any("direct_read" in warning and "system call" in warning for warning in answer.warnings)
        spoken.say(b".")
        assert spoken.hear() == b"a"
        wait_until(lambda: totals(session).get("answer"), "a call of the other one", SECONDS)
        after = blocked_signals(spoken.process.pid)
        assert {thread: after[thread] for thread in before} == before
        spoken.say(b"q")
        assert spoken.hear() == b"r"


def test_a_thread_that_cannot_be_stopped_holds_up_nobody(build_program: Build, manager: SessionManager) -> None:
    """vfork's parent stops for nobody before its child is done; the child runs in the same memory."""
    with conversation(build_program("stands_in_entries"), "vfork") as spoken:
        session = attach(manager, spoken.process.pid)
        answer = session.trace(TraceRequest(add=["answer"]))
        assert (answer.matched_functions, answer.hooked_functions) == (1, 0)
        assert any("answer" in warning and "did not stop" in warning for warning in answer.warnings)
        spoken.say(b".")
        assert spoken.hear() == b"a"
        spoken.say(b"q")
        assert spoken.hear() == b"r"
