"""Frida's helper for iOS devices, which nobody here has asked for: started with Frida's first use in a process.

All Frida processes of a user share one. Two that start at the same moment would both start one, and the second says on
our standard error that there is one already; so would the folder of one that is just being started seem to be left
over. Hence a lock among Strobe's processes, and each ends the helper only that came with itself. The file of the lock
says whose helper is whose, so that the next process ends the one of a process that was killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import select
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from strobe import threads
from strobe.capture.children import started
from strobe.errors import StrobeError

log = logging.getLogger(__name__)

_Owner = tuple[int, int]  # process id and start time: ids come around again

_HELPER = "idund"
_MOST_BYTES = 1 << 16  # of the file
_ABANDONED_S = 120.0
_LOCK_S = 2.0
_LOCK_POLL_S = 0.005
_START_S = 2.0
_END_S = 1.0


class FridaHelper:
    """The helper that may have come with this process's device. For any thread."""

    def __init__(self) -> None:
        self._own: list[Path] = []
        self._started = threading.Event()

    def start_with(self, manager: Any, open_device: Callable[[], Any]) -> Any:
        """The device, of this `manager` of Frida's. Frida starts the helper in the background, and is waited for
        there."""
        lock = _take_lock()
        if lock is not None:
            _end_orphans(lock)
        before = set(_folders())
        try:
            return open_device()
        finally:
            try:
                threads.start("strobe-frida", lambda: self._settle(manager, lock, before), threads.logged_only)
            except StrobeError:  # there is no room for another thread: or nobody would end the helper
                self._settle(manager, lock, before)

    def end(self) -> None:
        """Ends the helper and removes its folder; also older folders that nobody runs from."""
        if not self._started.wait(_START_S):
            return
        with _locked() as lock:
            for folder in self._own:
                _remove(folder)
            if lock is not None:
                _write_owners(lock, {name: owner for name, owner in _owners(lock).items() if owner != _this_process()})
            for folder in _folders():
                _remove_abandoned(folder)

    def _settle(self, manager: Any, lock: int | None, before: set[Path]) -> None:
        try:
            manager.enumerate_devices()  # returns when everything that Frida starts is started
            self._own = [folder for folder in _folders() if folder not in before]
            if lock is not None:
                mine = {folder.name: _this_process() for folder in self._own}
                _write_owners(lock, _owners(lock) | mine)
        except Exception as error:
            log.warning("Frida's devices: %s", error)
        finally:
            _release(lock)
            self._started.set()


@contextlib.contextmanager
def _locked() -> Iterator[int | None]:
    lock = _take_lock()
    try:
        yield lock
    finally:
        _release(lock)


def _take_lock() -> int | None:
    """None where it cannot be had: what it prevents is a line on standard error."""
    path = Path(tempfile.gettempdir(), f"strobe-{os.getuid()}.frida")
    deadline = time.monotonic() + _LOCK_S
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    while time.monotonic() < deadline:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        time.sleep(_LOCK_POLL_S)
    os.close(lock)
    return None


def _release(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


def _this_process() -> _Owner:
    return os.getpid(), started(os.getpid()) or 0


def _owners(lock: int) -> dict[str, _Owner]:
    """The process that each folder came with, by the folder's name."""
    owners = {}
    for line in os.pread(lock, _MOST_BYTES, 0).decode(errors="replace").splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1].isdecimal() and fields[2].isdecimal():
            owners[fields[0]] = (int(fields[1]), int(fields[2]))
    return owners


def _write_owners(lock: int, owners: dict[str, _Owner]) -> None:
    present = {folder.name for folder in _folders()}
    lines = [f"{name} {pid} {start}\n" for name, (pid, start) in owners.items() if name in present]
    os.ftruncate(lock, 0)
    os.pwrite(lock, "".join(lines).encode(), 0)


def _end_orphans(lock: int) -> None:
    """The helpers of processes that were killed, and their folders, 10 MB each."""
    owners = _owners(lock)
    for folder in _folders():
        owner = owners.get(folder.name)
        if owner is None:
            _remove_abandoned(folder)
        elif started(owner[0]) != owner[1]:
            _remove(folder)


def _remove(folder: Path) -> None:
    _end(_running_from(folder))
    shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(folder: Path) -> None:
    """One that is young may be of a process that is starting its helper right now."""
    if _age_s(folder) > _ABANDONED_S and not _running_from(folder):
        shutil.rmtree(folder, ignore_errors=True)


def _folders() -> list[Path]:
    """Folders of this user that hold Frida's helper and nothing else."""
    found = []
    for folder in Path(tempfile.gettempdir()).glob("frida-*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.getuid() and [file.name for file in folder.iterdir()] == [_HELPER]:
                found.append(folder)
    return found


def _age_s(folder: Path) -> float:
    with contextlib.suppress(OSError):
        return time.time() - (folder / _HELPER).stat().st_mtime
    return 0.0


def _running_from(folder: Path) -> list[int]:
    program = str(folder / _HELPER)
    found = []
    for entry in Path("/proc").glob("[0-9]*/exe"):
        with contextlib.suppress(OSError):
            if str(entry.readlink()) == program:
                found.append(int(entry.parent.name))
    return found


def _end(pids: list[int]) -> None:
    """Returns when they are gone, so that who starts next does not meet one that is ending."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            process = os.pidfd_open(pid)
            try:
                signal.pidfd_send_signal(process, signal.SIGTERM)
                waiting = select.poll()
                waiting.register(process, select.POLLIN)
                waiting.poll(_END_S * 1000)
            finally:
                os.close(process)
