"""Locks of the C library that another thread holds while a program forks, as the agent's do, are free in the child."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, Outcome, outcome


@pytest.mark.parametrize("lock", ["loader", "exit"])
def test_children_do_not_wait_for_threads_that_they_do_not_have(
    launch: Launch, build_program: Build, lock: str
) -> None:
    program = build_program("forks_locks")
    assert outcome(launch(program, lock, patterns=["end_child"])) == Outcome("20 right\n", "", 0)
