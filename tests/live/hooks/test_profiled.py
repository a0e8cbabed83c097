"""Hooks come and go in eight threads that are interrupted a thousand times a second, by handlers that are hooked, too.

150 changes of hooks, 50 of them in `make test`, 10,000 in the long form, which take half an hour.
"""

from __future__ import annotations

import os
import random
import signal

import pytest
from support.rounds import IS_LONG, scenario
from support.sessions import Build, Launch, outcome, text, totals
from support.short_form import short
from support.wait import wait_until

from strobe.model import TraceRequest

CHANGES = 10_000 if IS_LONG else short(150, 50)
PATTERNS = [*(f"step_{number}?" for number in range(1, 9)), "step_*", "in_handler", "*"]


@scenario
@pytest.mark.parametrize("form", ["native", "portable"])
def test_hooks_come_and_go_under_a_profiler(
    build_program: Build, launch: Launch, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    session = launch(build_program("profiled", "-O2"))
    wait_until(lambda: text(session, "stdout") == "ready\n", "the program to be ready")
    choice = random.Random(CHANGES)
    active: set[str] = set()
    for _ in range(CHANGES):
        pattern = choice.choice(PATTERNS)
        answer = (
            session.trace(TraceRequest(remove=[pattern]))
            if pattern in active
            else session.trace(TraceRequest(add=[pattern]))
        )
        active ^= {pattern}
        assert answer.hooked_functions == answer.matched_functions, answer.warnings
    assert totals(session)
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session).stdout == "ready\nright\nprofiled\n"
    assert outcome(session).status == 0
