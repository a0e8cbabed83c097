"""Hooks and libraries come and go for a long time: the memory of the program and of the host stays as it is.

The long form makes 10,000 changes.
"""

from __future__ import annotations

import os
import signal
import struct
import time
from pathlib import Path

import pytest
from support.rounds import IS_LONG
from support.sessions import Build, Launch, outcome, text, totals
from support.short_form import short
from support.wait import wait_until

from strobe.model import TraceRequest
from strobe.session import Session
from strobe.session.live import LiveSession
from strobe.timeline.store import Store

CHANGES = 10_000 if IS_LONG else short(100, 40)
LOADS = 1000 if IS_LONG else 300
WARM_UP = 60
HEAP_KB = 512  # by which the agent's heap may grow at any moment
LONGEST_WAIT_S = 1800 if IS_LONG else 120
LONGEST_LOADS_S = 60
CALLS = 1000  # of the library's function each time
MOST_KB = 2048
HOST_KB = 8192  # caches of SQLite fill up; a KB for each change would be more

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(3600 if IS_LONG else 180)]


def own_kb(pid: int) -> int:
    """Without the segment, which fills up."""
    return int(Path(f"/proc/{pid}/status").read_text().partition("RssAnon:")[2].split()[0])


def mapped_kb(pid: int) -> int:
    """Tables and trampolines are mapped, a page each at least, whether they are touched again or not."""
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmSize:")[2].split()[0])


def sizes(pid: int) -> tuple[int, int, int]:
    return mapped_kb(pid), own_kb(pid), own_kb(os.getpid())


def check_flat(pid: int, before: tuple[int, int, int]) -> None:
    now = sizes(pid)
    print(f"program {before[0]} -> {now[0]} KB mapped, {before[1]} -> {now[1]} its own; host {before[2]} -> {now[2]}")
    assert now[0] < before[0] + 2 * LOADS + HEAP_KB  # a page of 4 KB each time is more
    assert now[1] < before[1] + MOST_KB
    assert now[2] < before[2] + HOST_KB


@pytest.mark.parametrize("form", ["native", "portable"])
def test_hooks_that_come_and_go(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    session = launch(build_program("profiled", "-O2"))
    wait_until(lambda: text(session, "stdout") == "ready\n", "the program to be ready")
    change(session, 30)
    before = sizes(session.pid)
    change(session, CHANGES)
    check_flat(session.pid, before)
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session).status == 0


def change(session: Session, count: int) -> None:
    for number in range(count // 2):
        pattern = ("step_*", "in_handler", "*")[number % 3]
        answer = session.trace(TraceRequest(add=[pattern]))
        assert answer.hooked_functions or any("did not stop" in said for said in answer.warnings)
        session.trace(TraceRequest(remove=[pattern]))


@pytest.mark.long
@pytest.mark.parametrize("form", ["native", "portable"])
def test_libraries_that_come_and_go(
    launch: Launch,
    build_program: Build,
    build_plugin: Build,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    patterns = ["use", "load", "plugin_run"]
    session = launch(build_program("dlopens"), str(build_plugin()), "at-once", patterns=patterns)
    wait_for_loads(session, WARM_UP)
    before = sizes(session.pid)
    wait_for_loads(session, WARM_UP + LOADS)
    check_flat(session.pid, before)
    os.kill(session.pid, signal.SIGUSR1)
    assert (outcome(session).stdout, outcome(session).status) == ("right\n", 0)


@pytest.mark.long
def test_libraries_that_no_pattern_matches(
    launch: Launch, build_program: Build, build_plugin: Build, strobe_home: Path
) -> None:
    """Nothing is hooked any more while they come and go."""
    session = launch(build_program("loads_always"), str(build_plugin()), patterns=["main"])
    store = Store(strobe_home)

    def loads() -> int:
        return len(store.loads(session.id))

    wait_until(lambda: loads() >= 500, "500 libraries", LONGEST_WAIT_S)
    before, end = own_kb(session.pid), time.monotonic() + LONGEST_LOADS_S
    wait_until(lambda: loads() >= 6000 or time.monotonic() > end, "6,000 libraries", LONGEST_WAIT_S)
    later = loads() - 500
    assert later > 500  # on a machine however busy
    print(f"{later} libraries: {before} -> {own_kb(session.pid)} KB")
    assert own_kb(session.pid) < before + 64 + later * 0.15  # 450 bytes for each was the fault
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session).status == 0
    store.close()


def wait_for_loads(session: Session, count: int) -> None:
    def loads() -> int:
        found = totals(session).get("plugin_run")
        return found.count // CALLS if found else 0

    wait_until(lambda: loads() >= count, f"the library to be loaded {count} times", LONGEST_WAIT_S)


@pytest.mark.long
@pytest.mark.parametrize("form", ["native", "portable"])
def test_tables_of_callers_that_are_replaced(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """As when libraries come to a program with code that has no unwind information. Others look there meanwhile."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    session = launch(build_program("profiled", "-O2"), patterns=["*"])
    assert isinstance(session, LiveSession)
    wait_until(lambda: text(session, "stdout") == "ready\n", "the program to be ready")
    replace_callers(session, WARM_UP)
    before = sizes(session.pid)
    replace_callers(session, LOADS)
    check_flat(session.pid, before)
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session).status == 0


def replace_callers(session: LiveSession, times: int) -> None:
    for number in range(times):
        session._target.set_callers(struct.pack("<3Q", 1, 0, number))
