"""Limits of this process under which Frida would end it, or hang: refused beforehand, by one clear error. And those of
a program, which what Strobe takes there counts for."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from strobe.errors import failure

# measured: under less of either, Frida's Go runtime ends the process while it is imported
_ADDRESS_SPACE_BYTES = 2 << 30
_DATA_BYTES = 1 << 29
# measured: with less, Frida waits for ever, or leaves the program running untraced
_DESCRIPTORS = 30
# measured: an agent has 32 at the most while it enters a process, and takes 2,403 MB of addresses
_AGENTS_DESCRIPTORS = 40
_AGENTS_ADDRESS_SPACE = 2600 << 20


def check_proc() -> None:
    """Before a process is looked at. Raises no_proc where /proc has none of them, or others by their ids."""
    try:
        own = os.readlink("/proc/self")  # noqa: PTH115 - as all here
    except OSError as error:
        raise failure("no_proc", reason="/proc is not mounted") from error
    if own != str(os.getpid()):
        raise failure("no_proc", reason="/proc is that of another PID namespace, where ids are other processes'")


def check_memory() -> None:
    """Before frida is imported. Raises limit_too_low."""
    for kind, what, option, needed in (
        (resource.RLIMIT_AS, "address space", "-v", _ADDRESS_SPACE_BYTES),
        (resource.RLIMIT_DATA, "data", "-d", _DATA_BYTES),
    ):
        limit = resource.getrlimit(kind)[0]
        if limit != resource.RLIM_INFINITY and limit < needed:
            _refuse(what, option, f"{limit >> 10:,} KB", f"{needed >> 10:,} KB")


def check_descriptors() -> None:
    """Before Frida's device is opened. Raises limit_too_low."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    try:
        used = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    except OSError:  # none is left even for that
        used = limit
    if limit - used < _DESCRIPTORS:
        _refuse("open files", "-n", f"{limit} with {used} in use", f"{_DESCRIPTORS} more")


def limits_memory(pid: int) -> bool:
    """Whether the process may not take as much memory, or as many addresses, as it likes. False when it is gone."""
    try:
        limits = [resource.prlimit(pid, kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    except OSError:
        return False
    return any(limit != resource.RLIM_INFINITY for limit in limits)


def check_room(pid: int) -> None:
    """Before a running process is entered. Raises attach_refused where its limits leave no room for the agent, which
    would then neither begin nor leave."""
    try:
        descriptors, addresses = (
            resource.prlimit(pid, kind)[0] for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS)
        )
        used = len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return
    if descriptors != resource.RLIM_INFINITY and descriptors - used < _AGENTS_DESCRIPTORS:
        what = f"it may have {descriptors} open files, has {used}, and {_AGENTS_DESCRIPTORS} more are needed"
        raise failure("attach_refused", pid=pid, reason=what, hint="Start it with a higher limit (ulimit -n).")
    left = addresses - pages * resource.getpagesize()
    if addresses != resource.RLIM_INFINITY and left < _AGENTS_ADDRESS_SPACE:
        what = f"its address space is limited: {max(0, left) >> 20:,} MB are left"
        hint = (
            f"{_AGENTS_ADDRESS_SPACE >> 20:,} MB are needed, most of them only reserved."
            " Start it with a higher limit (ulimit -v)."
        )
        raise failure("attach_refused", pid=pid, reason=what, hint=hint)


def _refuse(what: str, option: str, limit: str, needed: str) -> None:
    raise failure("limit_too_low", what=what, option=option, limit=limit, needed=needed)
