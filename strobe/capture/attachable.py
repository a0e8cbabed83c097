"""Whether a running process can take an agent now: Frida's way in waits for ever where its main thread cannot run."""

from __future__ import annotations

import time
from pathlib import Path

from strobe.errors import failure

ATTACH_S = 20.0  # for what is over soon, such as a slow disk; then again for the way in
_POLL_S = 0.01


def wait_until_attachable(pid: int) -> None:
    """Raises process_stopped, process_blocked when it stays so for ATTACH_S, no_such_process."""
    deadline = time.monotonic() + ATTACH_S
    while (state := _state(pid)) == "D":  # uninterruptible: vfork's child has not gone its way, or a disk is slow
        if time.monotonic() > deadline:
            raise failure("process_blocked", pid=pid, seconds=f"{ATTACH_S:g}")
        time.sleep(_POLL_S)
    if state == "T":
        raise failure("process_stopped", pid=pid)


def _state(pid: int) -> str:
    """As proc(5) has it for /proc/PID/stat: R, S, D, T (stopped by a signal), t (by a tracer), Z."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except OSError as error:
        raise failure("no_such_process", pid=pid) from error
