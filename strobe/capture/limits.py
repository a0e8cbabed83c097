"""Limits of this process under which Frida would end it, or hang: refused beforehand, by one clear error. And those of
a program, which what Strobe takes there counts for."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

from strobe import _core
from strobe.errors import failure

_MOUNT = "Mount it: mount -t proc proc /proc (unshare: --mount-proc; bwrap: --proc /proc)."
# measured: under less of either, Frida's Go runtime ends the process while it is imported
_ADDRESS_SPACE_BYTES = 2 << 30
_DATA_BYTES = 1 << 29
# measured: with less, Frida waits for ever, or leaves the program running untraced
_DESCRIPTORS = 30
# measured: as many as a whole `strobe run` has, 18 of its own, 8 of Frida's helper, 9 in the program. With fewer, Frida
# ends this process (SIGABRT), or waits for an agent in the program that never begins
_THREADS = 40
_SESSIONS_THREADS = 20  # of these, those of a further program
_AGENTS_THREADS = 12  # and those in the program
_UNLIMITED = 1 << 21 | 1 << 24  # CAP_SYS_ADMIN, CAP_SYS_RESOURCE
# measured: an agent has 32 at the most while it enters a process, and takes 2,403 MB of addresses
_AGENTS_DESCRIPTORS = 40
_AGENTS_ADDRESS_SPACE = 2600 << 20


def check_proc() -> None:
    """Before a process is looked at. Raises no_proc where /proc has none of them, or others by their ids, or may not be
    written: code is changed by /proc/PID/mem."""
    try:
        own = os.readlink("/proc/self")  # noqa: PTH115 - as all here
    except OSError as error:
        raise failure("no_proc", reason="/proc is not mounted", hint=_MOUNT) from error
    if own != str(os.getpid()):
        reason = "/proc is that of another PID namespace, where ids are other processes'"
        raise failure("no_proc", reason=reason, hint=_MOUNT)
    if os.statvfs("/proc/self").f_flag & os.ST_RDONLY:
        hint = "Mount it writable: mount -o remount,rw /proc."
        raise failure("no_proc", reason="/proc is mounted read-only", hint=hint)


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


def check_threads() -> None:
    """Before frida is imported. Raises no_threads."""
    _check_room_for_threads(_THREADS)


def check_threads_of_session() -> None:
    """Before a program is started or attached to. Raises no_threads."""
    _check_room_for_threads(_SESSIONS_THREADS)


def _check_room_for_threads(count: int) -> None:
    if not _core.has_room_for_threads(count):
        raise failure("no_threads", needed=f"{count} more threads and processes")


def limits_memory(pid: int) -> bool:
    """Whether the process may not take as much memory, or as many addresses, as it likes. False when it is gone."""
    try:
        limits = _limits(pid)
    except OSError:
        return False
    return not {"Max address space", "Max data size"}.isdisjoint(limits)


def _limits(pid: int) -> dict[str, int]:
    """Soft ones, by their names; those that are there. Raises OSError. prlimit is not permitted to root in a container
    without CAP_SYS_RESOURCE, of other users' processes."""
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()[1:]
    named = ((line[:25].rstrip(), line[25:].split()[0]) for line in lines)
    return {name: int(limit) for name, limit in named if limit != "unlimited"}


def check_room(pid: int) -> None:
    """Before a running process is entered. Raises attach_refused where its limits leave no room for the agent, which
    would then neither begin nor leave."""
    try:
        limits = _limits(pid)
        used = len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return
    descriptors, addresses = limits.get("Max open files"), limits.get("Max address space")
    if descriptors is not None and descriptors - used < _AGENTS_DESCRIPTORS:
        what = f"it may have {descriptors} open files, has {used}, and {_AGENTS_DESCRIPTORS} more are needed"
        raise failure("attach_refused", pid=pid, reason=what, hint="Start it with a higher limit (ulimit -n).")
    left = _AGENTS_ADDRESS_SPACE if addresses is None else addresses - pages * resource.getpagesize()
    if left < _AGENTS_ADDRESS_SPACE:
        what = f"its address space is limited: {max(0, left) >> 20:,} MB are left"
        hint = (
            f"{_AGENTS_ADDRESS_SPACE >> 20:,} MB are needed, most of them only reserved."
            " Start it with a higher limit (ulimit -v)."
        )
        raise failure("attach_refused", pid=pid, reason=what, hint=hint)
    check_threads_of(pid)


def check_threads_of(pid: int) -> None:
    """Raises attach_refused where the limit of the process's user leaves no room for the agent's threads."""
    try:
        limit = _limits(pid).get("Max processes")
        status = _status(pid)
        user = int(status[b"Uid"].split()[0])
        everyones = int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError, KeyError):
        return
    is_free = user == 0 or int(status[b"CapEff"], 16) & _UNLIMITED
    if limit is None or is_free or limit - everyones >= _AGENTS_THREADS:
        return
    used = _threads_of_user(user)
    if limit - used < _AGENTS_THREADS:
        what = f"its user may have {limit} processes and threads, has {used}, and {_AGENTS_THREADS} more are needed"
        raise failure("attach_refused", pid=pid, reason=what, hint="Start it with a higher limit (ulimit -u).")


def _threads_of_user(user: int) -> int:
    count = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            with contextlib.suppress(OSError, ValueError, IndexError, KeyError):
                status = _status(int(entry.name))
                count += int(status[b"Threads"]) if int(status[b"Uid"].split()[0]) == user else 0
    return count


def _status(pid: int) -> dict[bytes, bytes]:
    """/proc/PID/status, by its words."""
    lines = Path(f"/proc/{pid}/status").read_bytes().splitlines()
    return {name: value for name, _, value in (line.partition(b":") for line in lines)}


def _refuse(what: str, option: str, limit: str, needed: str) -> None:
    raise failure("limit_too_low", what=what, option=option, limit=limit, needed=needed)
