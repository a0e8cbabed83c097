"""5,000 functions are hooked in one batch while the program runs, and it goes on and ends well.

In the short form 1,200.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.sessions import Build, Launch, outcome, text, totals
from support.short_form import short
from support.wait import wait_until

from strobe import _core
from strobe.capture.agent import agent_link
from strobe.capture.agent.agent_link import AgentLink
from strobe.model import EventFilter, TextMatch, TraceRequest
from strobe.session import Session
from strobe.timeline.reader import SessionReader

FUNCTIONS = short(5000, 1200)
MOST_WORK = 15  # while threads are held: so many times what reading the places one by one takes, of CPU time; 4 usually
MOST_HELD = 0.33  # of the time in which hooks are placed; 0.07 to 0.18 usually

# Looks at a process's main thread, again and again, until told to end: how often it was held, and how often not.
LOOKS = """
import os, select, sys
stat = os.open(f"/proc/{sys.argv[1]}/stat", os.O_RDONLY)
found = {True: 0, False: 0}
told = select.poll()
told.register(0, select.POLLIN)
print("ready", flush=True)
while not told.poll(0):
    found[os.pread(stat, 1000, 0).rpartition(b")")[2].split()[0] == b"t"] += 1
print(found[True], found[False])
"""


def test_five_thousand_hooks_while_it_runs(
    launch: Launch, build_many_functions: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    work: list[float] = []  # of each time that threads were held
    write_code = _core.write_code

    def noted(pid: int, changes: list[Any], *rest: Any) -> tuple[int, list[int]]:
        worked_ns, results = write_code(pid, changes, *rest)
        work.append(worked_ns / reading_ns(pid, [address for address, *_ in changes]))
        return worked_ns, results

    monkeypatch.setattr(_core, "write_code", noted)
    session = launch(build_many_functions(FUNCTIONS), patterns=["work_00000"])
    wait_until(lambda: text(session, "stdout") == "ready\n", "the program to be ready")
    wait_until(lambda: totals(session).get("work_00000"), "the first calls")
    work.clear()
    answer = session.trace(TraceRequest(add=["work_*"]))
    assert (answer.matched_functions, answer.hooked_functions) == (FUNCTIONS, FUNCTIONS)
    called = calls(session)
    wait_until(lambda: len(totals(session)) == FUNCTIONS, "every function to be called")
    wait_until(lambda: calls(session) > called, "more calls")
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session).stdout == "ready\nright\n"
    assert outcome(session).status == 0
    assert len(work) == 1  # all of the batch at once
    assert 0 < work[0] < MOST_WORK


def reading_ns(pid: int, addresses: list[int]) -> int:
    """CPU time for as many small reads, which is what the work is compared with."""
    begun = time.thread_time_ns()
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for address in addresses:
            os.pread(memory.fileno(), 5, address)
    return time.thread_time_ns() - begun


def test_threads_are_held_for_a_small_part_of_the_time(launch: Launch, build_many_functions: Build) -> None:
    session = launch(build_many_functions(FUNCTIONS))
    wait_until(lambda: text(session, "stdout") == "ready\n", "the program to be ready")
    command = [sys.executable, "-c", LOOKS, str(session.pid)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout is not None and watcher.stdout.readline() == "ready\n"
        assert session.trace(TraceRequest(add=["work_*"])).hooked_functions == FUNCTIONS
        held, others = map(int, watcher.communicate("\n", 60)[0].split())
    assert others > 0
    assert held / (held + others) < MOST_HELD
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session).stdout == "ready\nright\n"


def calls(session: Session) -> int:
    """Of all functions, in totals: the timeline itself may be full, and holds no more then."""
    return sum(group.count for group in totals(session).values())


@pytest.mark.parametrize("form", ["native", "portable"])
def test_the_agent_is_asked_for_a_part_of_them_at_a_time(
    launch: Launch, build_many_functions: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """A library with 110,000 functions took it more than the minute that it has for an answer, on a busy machine."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    asked: list[int] = []
    ask = AgentLink._ask

    def noted(self: AgentLink, method: Any, *arguments: Any, **more: Any) -> Any:
        if arguments and isinstance(arguments[0], dict) and "sizes" in arguments[0]:
            asked.append(len(arguments[0]["ids"]))
        return ask(self, method, *arguments, **more)

    monkeypatch.setattr(AgentLink, "_ask", noted)
    monkeypatch.setattr(agent_link, "SPECS_AT_ONCE", 64)
    session = launch(build_many_functions(200), patterns=["work_*"])
    wait_until(lambda: len(totals(session)) == 200, "every function to be called")
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session).stdout == "ready\nright\n"
    assert (max(asked), sum(asked)) == (64, 200)


def test_removed_functions_fall_silent_and_can_come_back(launch: Launch, build_many_functions: Build) -> None:
    session = launch(build_many_functions(200), patterns=["work_*"])
    wait_until(lambda: len(totals(session)) == 200, "every function to be called")
    session.trace(TraceRequest(remove=["work_*"]))
    before = calls_without_seventh(session)
    session.trace(TraceRequest(add=["work_00007"]))
    seventh = totals(session)["work_00007"].count
    wait_until(lambda: totals(session)["work_00007"].count > seventh + 100, "calls of the one that is back")
    # each of the two threads may have been on its way into one function when the pattern was removed
    assert calls_without_seventh(session) <= before + 2
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session).stdout == "ready\nright\n"


def calls_without_seventh(session: Session) -> int:
    return sum(group.count for name, group in totals(session).items() if name != "work_00007")


def test_every_pattern_change_leaves_the_program_right(launch: Launch, build_many_functions: Build) -> None:
    session = launch(build_many_functions(200))
    wait_until(lambda: text(session, "stdout") == "ready\n", "the program to be ready")
    for round_number in range(short(20, 10)):
        pattern = f"work_*{round_number % 10}"
        session.trace(TraceRequest(add=[pattern]))
        session.trace(TraceRequest(remove=[pattern]))
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session).stdout == "ready\nright\n"
    assert outcome(session).status == 0


def test_an_empty_answer_looks_nothing_up_function_by_function(
    launch: Launch, build_many_functions: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 5,868 functions it took 46 s, and so did the end of a session in which nothing had been called."""
    session = launch(build_many_functions(200), patterns=["work_*"])
    wait_until(lambda: text(session, "stdout") == "ready\n", "the program to be ready")
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session).status == 0
    asked: list[str] = []
    rows = SessionReader.rows

    def noted(self: SessionReader, statement: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        asked.append(statement)
        return rows(self, statement, values)

    monkeypatch.setattr(SessionReader, "rows", noted)
    page = session.query(EventFilter(thread_name=TextMatch(equals="nobody")))
    assert page.total_count == 0 and page.absence
    assert session.timeline.function_losses()
    assert len(asked) < 100, Counter(asked).most_common(3)
