"""Functions of the C library, mostly, whose calls the recorder knows of, whatever is traced (native/observed.c)."""

from __future__ import annotations

import logging
import signal

from strobe import _core
from strobe._abi import Refusal
from strobe.capture.agent.agent_link import AgentLink
from strobe.capture.code_patches import CodePatches
from strobe.capture.landings import landings
from strobe.capture.own_handlers import sets_handlers_itself
from strobe.capture.probes import Trampoline
from strobe.capture.refusals import SENTENCES
from strobe.capture.task_status import blocked_signals, task_ids

log = logging.getLogger(__name__)

_FIRST = -1  # of the numbers of their patches, which count downwards
_RESTRICTING = ("prctl", "syscall")
CALL_SITES = ("dladdr", "dladdr1", "__cyg_profile_func_enter", "__cyg_profile_func_exit")  # are given where a call is
_FAULTS = 1 << signal.SIGSEGV - 1 | 1 << signal.SIGBUS - 1


def observe(pid: int, agent: AgentLink, patches: CodePatches, catches_faults: bool) -> dict[str, str]:
    """From now on the recorder knows of the system calls that the program filters. With `catches_faults` also of the
    signal handlers and masks that it sets, so that it can catch the faults of its own loads; without that it has the
    kernel read, which takes longer. Gives those functions that filter system calls, and those of CALL_SITES,
    whose calls are not seen, with the reason. Raises as AgentLink and CodePatches do."""
    found = agent.observer_trampolines(landings(pid))
    made = {_FIRST - number: item for number, (_, item) in enumerate(found) if isinstance(item, Trampoline)}
    reasons = patches.install(made)
    reasons |= {_FIRST - number: item for number, (_, item) in enumerate(found) if isinstance(item, Refusal)}
    if catches_faults and sets_handlers_itself(pid):  # it would get the faults of the recorder's loads
        log.info("process %d sets signal handlers by system calls of its own: memory is read by the kernel", pid)
    elif catches_faults and found and _FIRST not in reasons:  # sigaction
        sees_masks = all(found[_FIRST - number][0] in CALL_SITES for number in reasons)
        agent.begin_observing(not sees_masks or _has_faults_blocked(pid, agent, patches.running))
    elif catches_faults and found:
        log.warning("process %d: faults are not caught: %s", pid, repr(reasons[_FIRST]))
    unseen = {found[_FIRST - number][0]: reason for number, reason in reasons.items()}
    return {name: SENTENCES[unseen[name]] for name in (*_RESTRICTING, *CALL_SITES) if name in unseen}


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
