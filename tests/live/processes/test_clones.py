"""Tasks that share more than threads of the C library do."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, Outcome, counts, outcome

CALLS = 60 * 30 * 11  # of `descend`: 60 tasks, of which half are the program itself


@pytest.mark.parametrize("stack", ["own", "heap"])
def test_task_with_the_control_block_of_its_maker(launch: Launch, build_program: Build, stack: str) -> None:
    """Both are recorded, and neither gets the frames of the other. On another stack no return is caught."""
    session = launch(build_program("clones", "-O1"), stack, patterns=["descend", "work"], sampling="off")
    assert outcome(session) == Outcome("60 right\n", "", 0)
    calls, completed, unwound = counts(session)["descend"]
    assert (calls, completed, unwound) == (CALLS, CALLS if stack == "own" else CALLS // 2, 0)
