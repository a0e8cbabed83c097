"""Hooks come and go in eight threads that are interrupted a thousand times a second, by handlers that are hooked, too.

150 changes of hooks always, 10,000 of them, which take half an hour, with STROBE_BIG_HOOKS=1.
"""

from __future__ import annotations

import os
import random
import signal

import pytest
from support.sessions import Build, Launch, outcome, text, totals
from support.wait import wait_until

FEW, ALL = 150, 10_000
RUN_SECONDS = 3600
PATTERNS = [*(f"step_{number}?" for number in range(1, 9)), "step_*", "in_handler", "*"]
big = pytest.mark.skipif(os.environ.get("STROBE_BIG_HOOKS") != "1", reason="takes half an hour: STROBE_BIG_HOOKS=1")


@pytest.mark.timeout(RUN_SECONDS)
@pytest.mark.parametrize("form", ["native", "portable"])
@pytest.mark.parametrize("changes", [FEW, pytest.param(ALL, marks=big)])
def test_hooks_come_and_go_under_a_profiler(
    build_program: Build, launch: Launch, monkeypatch: pytest.MonkeyPatch, form: str, changes: int
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    session = launch(build_program("profiled", "-O2"))
    wait_until(lambda: text(session, "stdout") == "ready\n", "the program to be ready", 20)
    choice = random.Random(changes)
    active: set[str] = set()
    for _ in range(changes):
        pattern = choice.choice(PATTERNS)
        answer = session.trace(remove=[pattern]) if pattern in active else session.trace(add=[pattern])
        active ^= {pattern}
        assert answer.hooked_functions == answer.matched_functions, answer.warnings
    assert totals(session)
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session).stdout == "ready\nright\nprofiled\n"
    assert outcome(session).status == 0
