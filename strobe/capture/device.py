"""Frida's local device, one per process, and the way of each program's output to its target."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import frida

_HELPER = "idund"
_ABANDONED_S = 120.0
Receiver = Callable[[int, bytes], None]


class OutputRouter:
    """Frida tells output per device; this hands it on per process. `b""` on a descriptor is its end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._device: Any = None
        self._since_s = 0.0
        self._receivers: dict[int, Receiver] = {}
        self._early: dict[int, list[tuple[int, bytes]]] = {}

    def device(self) -> Any:
        with self._lock:
            if self._device is None:
                self._since_s = time.time()
                self._device = frida.get_local_device()
                self._device.on("output", self._receive)
            return self._device

    def clean_up(self) -> None:
        """Ends what Frida leaves behind: a helper for iOS devices, which nobody here has asked for, and its folder.

        Frida starts it at a moment of its own, so everything of that kind since this process began to use it is meant;
        older folders that nobody runs from are those of processes that were killed.
        """
        with self._lock:
            if self._device is None:
                return
        for folder, created_s in _helper_folders():
            running = _running_from(folder)
            if created_s >= self._since_s:
                for pid in running:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, signal.SIGTERM)
            elif running or created_s > time.time() - _ABANDONED_S:
                continue
            shutil.rmtree(folder, ignore_errors=True)

    def connect(self, pid: int, receiver: Receiver) -> None:
        with self._lock:
            self._receivers[pid] = receiver
            early = self._early.pop(pid, [])
        for descriptor, data in early:
            receiver(descriptor, data)

    def disconnect(self, pid: int) -> None:
        with self._lock:
            self._receivers.pop(pid, None)

    def forget_early(self, pid: int) -> None:
        with self._lock:
            self._early.pop(pid, None)

    def _receive(self, pid: int, descriptor: int, data: bytes) -> None:
        with self._lock:
            receiver = self._receivers.get(pid)
            if receiver is None:
                self._early.setdefault(pid, []).append((descriptor, data))
                return
        receiver(descriptor, data)


def _helper_folders() -> list[tuple[Path, float]]:
    """Folders of this user that hold Frida's helper and nothing else, and when that was put there (seconds, epoch)."""
    found = []
    for folder in Path(tempfile.gettempdir()).glob("frida-*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.getuid() and [file.name for file in folder.iterdir()] == [_HELPER]:
                found.append((folder, (folder / _HELPER).stat().st_mtime))
    return found


def _running_from(folder: Path) -> list[int]:
    program = str(folder / _HELPER)
    found = []
    for entry in Path("/proc").glob("[0-9]*/exe"):
        with contextlib.suppress(OSError):
            if str(entry.readlink()) == program:
                found.append(int(entry.parent.name))
    return found


ROUTER = OutputRouter()
