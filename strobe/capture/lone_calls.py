"""Calls that the kernel refuses a process with more than one thread: unshare and setns, of user namespaces and others.

The agent's threads count. A thread that makes such a call waits (csrc/recorder/arch/x86_64/process_hooks.c) until this
here, which looks from outside, has had the agent leave, and lets it go on.
"""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path

from strobe import _abi
from strobe.capture.recorder_state import place_of
from strobe.capture.task_status import task_ids

_POLL_S = 0.1
_ALONE_S = 2.0  # for the agent's last thread to end
_ALONE_POLL_S = 0.002
_OF_ANY_THREADS = ("net:", "ipc:", "uts:", "pid:", "cgroup:")  # namespaces, as links of /proc/PID/fd name them


def follow_lone_calls(
    pid: int, recorder: int, place: tuple[int, int], ended: threading.Event, leave: Callable[[str], bool]
) -> None:
    """Until `ended` is set, or the process has become another program. `recorder`, `place`: as recorder_state.place_of
    has them. `leave` is given the name of the function that waits, and returns whether the agent has left."""
    control, _ = place
    while not ended.wait(_POLL_S):
        try:
            with FileIO(f"/proc/{pid}/mem", "r+") as memory:
                if place_of(memory, recorder) != place:
                    return
                call, descriptor = _waiting(memory, control)
                if not call:
                    continue
                try:
                    if _needs_to_be_alone(pid, call, descriptor) and leave(_name(call)):
                        _wait_until_alone(pid)
                finally:
                    if place_of(memory, recorder) == place:
                        os.pwrite(memory.fileno(), bytes(4), control + _abi.CONTROL_VIEW_AT["lone_call"])
        except (OSError, struct.error, OverflowError):  # it ends, or may not be read at this moment
            continue


def _waiting(memory: FileIO, control: int) -> tuple[int, int]:
    """Which call waits (LONE_*), 0 for none, and its first argument."""
    *_, call, argument = _abi.CONTROL_VIEW.unpack(os.pread(memory.fileno(), _abi.CONTROL_VIEW.size, control))
    return call, argument


def _name(call: int) -> str:
    return "setns" if call == _abi.LONE_SETNS else "unshare"


def _needs_to_be_alone(pid: int, call: int, descriptor: int) -> bool:
    if call != _abi.LONE_SETNS:
        return True
    return not str(Path(f"/proc/{pid}/fd/{descriptor}").readlink()).startswith(_OF_ANY_THREADS)


def _wait_until_alone(pid: int) -> None:
    deadline = time.monotonic() + _ALONE_S
    while len(task_ids(pid)) > 1 and time.monotonic() < deadline:
        time.sleep(_ALONE_POLL_S)
