"""Strobe processes that own sessions, and which of them live.

A process is known by its id and start time. The id means something in its PID namespace alone: a home may be shared
with containers. So each holds a lock on a file of the home as well, which every process that sees the file can try. Of
the start time each time namespace has its own: it is counted from the boot of the machine.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import threading
import time
from pathlib import Path
from typing import ClassVar, NamedTuple

_FOLDER = "owners"
_RETRY_S = 0.001
_LONGEST_S = 1.0
_ROUNDING_TICKS = 1  # the start and the offset of a time namespace are each rounded


class Owner(NamedTuple):
    """`start_time`: as process_start_time has it. `namespace`: the PID namespace's inode, 0 where it is not known."""

    pid: int
    start_time: int
    namespace: int

    def is_of_this_namespace(self) -> bool:
        """Also where that is not known."""
        return self.namespace in (0, _own_namespace())


def this_process() -> Owner:
    """This process as the owner of sessions."""
    return Owner(os.getpid(), process_start_time(os.getpid()) or 0, _own_namespace())


def has_started_at(pid: int, start_time: int) -> bool:
    """Whether the process lives and started then (process_start_time), perhaps as another time namespace has it."""
    started = process_start_time(pid)
    return started is not None and abs(started - start_time) <= _ROUNDING_TICKS


def is_alive(owner: Owner, home: Path) -> bool:
    """Whether an owner still runs. True where that cannot be found out: a session is better left alone than ended."""
    if owner.is_of_this_namespace():
        return has_started_at(owner.pid, owner.start_time)
    try:
        descriptor = os.open(_path(owner, home), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:  # it is not known: a session is better left alone than ended
        return True
    try:
        return not _locked(descriptor, fcntl.LOCK_SH)
    except OSError:  # as above: the file system may have no locks
        return True
    finally:
        os.close(descriptor)


class OwnerLock:
    """Held from its making to `release`, by as many objects of this process as there are for the home. Who asks takes
    the lock shared, for a moment, so that several who ask are not taken for the owner."""

    _held: ClassVar[dict[Path, list[int]]] = {}  # descriptor, and how many objects hold it
    _guard = threading.Lock()

    def __init__(self, home: Path) -> None:
        """Raises OSError, also where the file system has no locks."""
        self.owner = this_process()
        self._path = _path(self.owner, home)
        with self._guard:
            if self._path not in self._held:
                self._path.parent.mkdir(mode=0o700, exist_ok=True)
                self._held[self._path] = [self._acquired(), 0]
            self._held[self._path][1] += 1

    def release(self) -> None:
        """Gives up one hold of the lock; the last one removes its file."""
        with self._guard:
            held = self._held[self._path]
            held[1] -= 1
            if held[1] == 0:
                del self._held[self._path]
                with contextlib.suppress(OSError):
                    self._path.unlink(missing_ok=True)
                os.close(held[0])

    def _acquired(self) -> int:
        flags = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        deadline = time.monotonic() + _LONGEST_S
        while time.monotonic() < deadline:
            descriptor = os.open(self._path, flags, 0o600)
            try:
                # somebody may be asking, or have found it without a lock, and removed it
                if _locked(descriptor, fcntl.LOCK_EX) and os.fstat(descriptor).st_nlink:
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
            time.sleep(_RETRY_S)
        raise TimeoutError(f"'{self._path}' is locked by another process")


def remove_stale(home: Path) -> None:
    """Files of those that were killed."""
    with contextlib.suppress(OSError):
        for path in (home / _FOLDER).iterdir():
            with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123
                # its owner may have ended, removed it, and made it anew
                if _locked(file.fileno(), fcntl.LOCK_SH) and os.fstat(file.fileno()).st_nlink:
                    path.unlink()


def process_start_time(pid: int) -> int | None:
    """Clock ticks from boot to the start of a process, None where there is no such process (proc(5), stat field 22).

    The same from all time namespaces, but for a tick.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # the second field is the program's name in parentheses and may hold anything, parentheses and spaces included
    rest = stat.rpartition(")")[2].split()
    return None if rest[0] in ("Z", "X") else int(rest[19]) - _boot_offset_ticks()


@functools.cache
def _boot_offset_ticks() -> int:
    """By how much the time since boot is ahead in this process's time namespace (time_namespaces(7)); 0 where that
    cannot be known.

    The file tells of the namespace for a process's children: another one after unshare, with exec where Linux does not
    enter it then, as older ones.
    """
    try:
        own = os.readlink("/proc/self/ns/time")  # noqa: PTH115 - a name that is no path
        among = ("self", str(os.getppid()))
        giver = next(one for one in among if os.readlink(f"/proc/{one}/ns/time_for_children") == own)  # noqa: PTH115
        lines = Path(f"/proc/{giver}/timens_offsets").read_text().splitlines()
    except (OSError, StopIteration):  # a kernel without them
        return 0
    seconds, ns = next((map(int, line.split()[1:]) for line in lines if line.startswith("boottime")), (0, 0))
    return (seconds * 1_000_000_000 + ns) * os.sysconf("SC_CLK_TCK") // 1_000_000_000


def _path(owner: Owner, home: Path) -> Path:
    return home / _FOLDER / f"{owner.namespace}-{owner.pid}-{owner.start_time}"


def _locked(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _own_namespace() -> int:
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0
