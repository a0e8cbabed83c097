"""Threads of the agent in a process: the program's signals are not for them."""

from __future__ import annotations

import logging
from pathlib import Path

from strobe import _core
from strobe.capture.agent_link import AgentLink

log = logging.getLogger(__name__)


def keep_signals_from(agent: AgentLink, pid: int) -> None:
    """The agent's threads take none from now on; threads that these create later inherit what they block."""
    try:
        tasks = {int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()}
        _core.block_signals(pid, sorted(tasks - agent.program_threads(tasks)))
    except OSError as error:  # gone, or held by another debugger: the program may then run handlers in them
        log.warning("signals of process %d may reach threads of the agent: %s", pid, error)
