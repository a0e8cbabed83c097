"""Functions of the C library whose calls the recorder knows of, whatever is traced (native/observed.c)."""

from __future__ import annotations

import logging
import signal

from strobe import _core
from strobe.capture.agent.agent_link import AgentLink
from strobe.capture.code_patches import CodePatches
from strobe.capture.landings import landings
from strobe.capture.own_handlers import sets_handlers_itself
from strobe.capture.probes import Trampoline
from strobe.capture.task_status import blocked_signals, task_ids

log = logging.getLogger(__name__)

_FIRST = -1  # of the numbers of their patches, which count downwards
_FAULTS = 1 << signal.SIGSEGV - 1 | 1 << signal.SIGBUS - 1


def observe(pid: int, agent: AgentLink, patches: CodePatches, catches_faults: bool) -> None:
    """From now on the recorder knows of the system calls that the program filters. With `catches_faults` also of the
    signal handlers and masks that it sets, so that it can catch the faults of its own loads; without that it has the
    kernel read, which takes longer. Raises as AgentLink and CodePatches do."""
    found = agent.observer_trampolines(landings(pid))
    made = {_FIRST - number: item for number, (_, item) in enumerate(found) if isinstance(item, Trampoline)}
    refused = patches.install(made)
    installed = made.keys() - refused.keys()
    if not catches_faults:
        for name, item in found:
            if not isinstance(item, Trampoline):
                log.warning("process %d: calls of %s are not seen: %s", pid, name, item)
        for number, reason in refused.items():
            log.warning("process %d: calls of %s are not seen: %s", pid, found[_FIRST - number][0], reason)
        return
    if sets_handlers_itself(pid):  # it would get the faults of the recorder's loads
        log.info("process %d sets signal handlers by system calls of its own: memory is read by the kernel", pid)
    elif _FIRST in installed:  # sigaction
        agent.begin_observing(len(installed) < len(found) or _has_faults_blocked(pid, agent, patches.running))
    elif found:
        log.warning("process %d: faults are not caught: %s", pid, repr(refused.get(_FIRST, found[0][1])))


def _has_faults_blocked(pid: int, agent: AgentLink, is_running: bool) -> bool:
    """A thread of the program that has SIGSEGV or SIGBUS blocked, or will have; also where that cannot be known."""
    try:
        tasks = task_ids(pid)
        own = agent.program_threads(tasks)
        if is_running:
            return bool(_core.blocked_signals(pid, sorted(tasks - own)) & _FAULTS)
        return any(blocked_signals(pid, task) & _FAULTS for task in own)
    except OSError:
        return True
