"""Calls that the agent's threads do not bear: unshare and setns, of user namespaces and others, which the kernel
refuses a process with more than one thread, and filters of system calls (seccomp) for all threads, which would end it
for the agent's.

A thread that makes such a call waits (csrc/recorder/arch/x86_64/process_hooks.c, native/observed.c) until this here,
which looks from outside, has had the agent leave, and lets it go on; or until it sees that the agent has gone.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import time
from collections.abc import Callable, Collection
from io import FileIO
from pathlib import Path

from strobe import _abi, _core
from strobe.capture.recorder_state import read_view
from strobe.capture.task_status import task_ids

_POLL_S = 0.1
_LAST_LOOKS = 3  # a thread may have seen the agent, and not yet written that it waits
_ENDING_S = 2.0  # for the agent's last thread
_ENDING_POLL_S = 0.002
FILTER = "seccomp"
FILTERS = (
    "the program filters the system calls of all its threads (seccomp), which would end it for those of Strobe's own"
)
CALLS = "the program called {name}, which fails where a process has threads, as Strobe's are"
_NAMES = {_abi.LONE_UNSHARE: "unshare", _abi.LONE_SETNS: "setns", _abi.LONE_FILTER: FILTER}
_OF_ANY_THREADS = ("net:", "ipc:", "uts:", "pid:", "cgroup:")  # namespaces, as links of /proc/PID/fd name them


def follow_lone_calls(
    pid: int, recorder: int, leaving: threading.Event, left: threading.Event, leave: Callable[[str], bool]
) -> None:
    """Until the agent has left, or the process has become another program. `recorder`: address of its struct
    strobe_recorder. `leaving`: the agent leaves, or the process has ended; `left` is set later. `leave` is given the
    name of the function that waits, and returns whether the agent leaves."""
    # held open: a program that is no longer dumpable would not let it be opened
    ends = (OSError, struct.error, OverflowError)  # as read_view raises
    with (
        contextlib.suppress(*ends),
        contextlib.ExitStack() as last,
        FileIO(f"/proc/{pid}/mem", "r+") as memory,
    ):
        control, *_ = read_view(memory, _abi.RECORDER_VIEW, recorder)
        while not leaving.wait(_POLL_S):
            call, argument = _waiting(memory, control)
            if call == _abi.LONE_FILTER:
                _core.expect_filter(pid, True)
                last.callback(_core.expect_filter, pid, False)
            if call and not (_needs_to_be_alone(pid, call, argument) and leave(_NAMES.get(call, ""))):
                _let_go_on(memory, control)
        left.wait()  # a call may have come before it was, whoever asked the agent to leave
        _clear(memory, control, "lone_waits")  # as end_lone_calls, which could not open the memory of such a program
        for _ in range(_LAST_LOOKS):
            if _waiting(memory, control)[0]:
                _let_go_on(memory, control)
            time.sleep(_POLL_S)


def end_lone_calls(pid: int, recorder: int, agents: Collection[int], take_out: Callable[[], object]) -> None:
    """No call waits any more, as the agent has left: once these threads of its have ended, in 2 s at most, and
    `take_out` has had what calls wait behind removed. That stops the threads, which must not happen while a filter of
    system calls is set: one that was stopped in a wait before would go on by a call that the filter may forbid. Raises
    OSError where the process is gone, and what `take_out` raises."""
    deadline = time.monotonic() + _ENDING_S
    while not task_ids(pid).isdisjoint(agents) and time.monotonic() < deadline:
        time.sleep(_ENDING_POLL_S)
    try:
        take_out()
    finally:
        with FileIO(f"/proc/{pid}/mem", "r+") as memory:
            control, *_ = read_view(memory, _abi.RECORDER_VIEW, recorder)
            _clear(memory, control, "lone_waits")


def _waiting(memory: FileIO, control: int) -> tuple[int, int]:
    """Which call waits, 0 for none, and its first argument."""
    *_, call, argument, _ = read_view(memory, _abi.CONTROL_VIEW, control)
    return call, argument


def _let_go_on(memory: FileIO, control: int) -> None:
    _clear(memory, control, "lone_call")


def _clear(memory: FileIO, control: int, field: str) -> None:
    os.pwrite(memory.fileno(), bytes(4), control + _abi.CONTROL_VIEW_AT[field])


def _needs_to_be_alone(pid: int, call: int, descriptor: int) -> bool:
    if call != _abi.LONE_SETNS:
        return True
    try:
        return not str(Path(f"/proc/{pid}/fd/{descriptor}").readlink()).startswith(_OF_ANY_THREADS)
    except FileNotFoundError:
        return False
    except OSError:  # it may not be asked
        return True
