"""Threads of the agent in a process: the program's signals are not for them."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from strobe import _core
from strobe.capture.agent.agent_link import AgentLink
from strobe.capture.task_status import task_ids

log = logging.getLogger(__name__)

_HELD_MS = 20_000  # a tenth of a second mostly, but machines are busy


@contextlib.contextmanager
def held(tasks: list[int]) -> Iterator[None]:
    """These threads stand still, for 20 seconds at most, and run now and then: the agent may wait for one of them."""
    holding = _core.HeldThreads(tasks, _HELD_MS)
    try:
        yield
    finally:
        if not holding.release():
            log.info("threads were let go of before the agent was ready")


def keep_signals_from(agent: AgentLink, pid: int) -> None:
    """The agent's threads take none from now on; threads that these create later inherit what they block."""
    try:
        tasks = task_ids(pid)
        _core.block_signals(pid, sorted(tasks - agent.program_threads(tasks)))
    except OSError as error:  # gone, or held by another debugger: the program may then run handlers in them
        log.warning("signals of process %d may reach threads of the agent: %s", pid, error)
