"""Frida's local device, one per process, and the way of each program's output to its target."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import frida

_HELPER = "idund"
Receiver = Callable[[int, bytes], None]


class OutputRouter:
    """Frida tells output per device; this hands it on per process. `b""` on a descriptor is its end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._device: Any = None
        self._helpers: set[Path] = set()
        self._receivers: dict[int, Receiver] = {}
        self._early: dict[int, list[tuple[int, bytes]]] = {}

    def device(self) -> Any:
        with self._lock:
            if self._device is None:
                before = _helper_folders()
                self._device = frida.get_local_device()
                self._device.on("output", self._receive)
                self._helpers = _helper_folders() - before
            return self._device

    def clean_up(self) -> None:
        """Ends what Frida leaves behind: a helper for iOS devices, which nobody here has asked for, and its folder."""
        with self._lock:
            folders, self._helpers = self._helpers, set()
        for folder in folders:
            for pid in _running_from(folder):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGTERM)
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


def _helper_folders() -> set[Path]:
    """Folders that hold Frida's helper `idund` and nothing else, of this user."""
    folders = Path(tempfile.gettempdir()).glob("frida-*")
    return {item for item in folders if _holds_helper_only(item)}


def _holds_helper_only(folder: Path) -> bool:
    try:
        return folder.stat().st_uid == os.getuid() and [file.name for file in folder.iterdir()] == [_HELPER]
    except OSError:
        return False


def _running_from(folder: Path) -> list[int]:
    program = str(folder / _HELPER)
    found = []
    for entry in Path("/proc").glob("[0-9]*/exe"):
        with contextlib.suppress(OSError):
            if str(entry.readlink()) == program:
                found.append(int(entry.parent.name))
    return found


ROUTER = OutputRouter()
