"""Frida's local device, one per process, and the way of each program's output to its target."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from strobe import _core
from strobe.capture.agent.frida_helper import FridaHelper
from strobe.capture.agent.frida_import import frida
from strobe.capture.limits import check_descriptors

# frida's exceptions have no base of their own
FRIDA_ERRORS: tuple[type[Exception], ...] = tuple(
    kind for name, kind in vars(frida).items() if name.endswith("Error") and isinstance(kind, type)
)
Receiver = Callable[[int, bytes], None]


class OutputRouter:
    """Frida reports output per device; this passes it on per process. `b""` on a descriptor is its end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # of the receivers: Frida's thread waits for it, on which Frida's answers wait
        self._device_lock = threading.Lock()
        self._device: Any = None
        self._former: list[Any] = []  # whose sessions go on
        self._helper = FridaHelper()
        self._receivers: dict[int, Receiver] = {}
        self._early: dict[int, list[tuple[int, bytes]]] = {}
        self._silenced: set[int] = set()

    def device(self) -> Any:
        """Frida's local device, made with the first use. Raises LIMIT_REACHED where descriptors are too few."""
        with self._device_lock:
            if self._device is None:
                check_descriptors()
                _core.end_children_with_us(frida._frida.__file__)
                self._device = self._helper.start_with(frida.get_local_device)
                self._device.on("output", self._receive)
            return self._device

    def renew(self, former: Any) -> Any:
        """Another device than `former`, for all that is started or attached to from now on.

        A device keeps waiting for an agent that does not end, whenever its process is attached to; another one knows
        nothing of it.
        """
        with self._device_lock:
            if self._device is former:
                self._former.append(former)
                devices = frida.DeviceManager()
                self._device = devices.get_device_by_type("local", 0)
                self._device.on("output", self._receive)
            return self._device

    def clean_up(self) -> None:
        """Ends what Frida leaves behind."""
        with self._device_lock:
            if self._device is None:
                return
        self._helper.end()

    def connect(self, pid: int, receiver: Receiver) -> None:
        """From now on `receiver` gets the output of `pid`; first what has come before."""
        with self._lock:
            self._receivers[pid] = receiver
            self._silenced.discard(pid)
            early = self._early.pop(pid, [])
        for descriptor, data in early:
            receiver(descriptor, data)

    def disconnect(self, pid: int, receiver: Receiver | None = None) -> None:
        """What children of the process still write is dropped from now on.

        `receiver`: as it was connected; where the process id has gone to another program since, nothing is done.
        """
        with self._lock:
            if receiver in (None, self._receivers.get(pid)):
                self._receivers.pop(pid, None)
                self._early.pop(pid, None)
                self._silenced.add(pid)

    def _receive(self, pid: int, descriptor: int, data: bytes) -> None:
        with self._lock:
            receiver = self._receivers.get(pid)
            if receiver is None and pid in self._silenced:
                return
            if receiver is None:
                self._early.setdefault(pid, []).append((descriptor, data))
                return
        receiver(descriptor, data)


ROUTER = OutputRouter()
