"""Frida's local device, one per process, and the way of each program's output to its target."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import frida

Receiver = Callable[[int, bytes], None]


class OutputRouter:
    """Frida tells output per device; this hands it on per process. `b""` on a descriptor is its end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._device: Any = None
        self._receivers: dict[int, Receiver] = {}
        self._early: dict[int, list[tuple[int, bytes]]] = {}

    def device(self) -> Any:
        with self._lock:
            if self._device is None:
                self._device = frida.get_local_device()
                self._device.on("output", self._receive)
            return self._device

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


ROUTER = OutputRouter()
