"""Frida's local devices, mostly one in a process, and the way of each program's output to its target."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from strobe import _core, threads
from strobe.capture.agent.frida_helper import FridaHelper
from strobe.capture.agent.frida_import import frida
from strobe.capture.limits import check_descriptors

# frida's exceptions have no base of their own
FRIDA_ERRORS: tuple[type[Exception], ...] = tuple(
    kind for name, kind in vars(frida).items() if name.endswith("Error") and isinstance(kind, type)
)
Receiver = Callable[[int, bytes], None]


class DeviceUse:
    """One local device of Frida's. It stays open until all its uses have ended, and as long as it is the present one.

    One that is not used takes 2 MB and 3 descriptors.
    """

    def __init__(self, device: Any, router: OutputRouter) -> None:
        self.device = device
        self._router = router
        self._is_over = False

    def again(self) -> DeviceUse:
        """Another use of the same device. To be made while this one lasts."""
        return self._router._use_again(self.device)

    def end(self) -> None:
        """Nothing is asked of the device by this user any more. A second time it does nothing."""
        with self._router._device_lock:
            was_over, self._is_over = self._is_over, True
        if not was_over:
            self._router._end_use(self.device)


class OutputRouter:
    """Frida reports output per device; this passes it on per process. `b""` on a descriptor is its end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # of the receivers: Frida's thread waits for it, on which Frida's answers wait
        self._device_lock = threading.Lock()
        self._device: Any = None
        self._managers: dict[Any, Any] = {}  # Frida's, of each device that is open
        self._uses: Counter[Any] = Counter()
        self._helper = FridaHelper()
        self._receivers: dict[int, Receiver] = {}
        self._early: dict[int, list[tuple[int, bytes]]] = {}
        self._silenced: set[int] = set()

    def use(self) -> DeviceUse:
        """Frida's local device, opened with the first use. Raises LIMIT_REACHED where descriptors or threads are too
        few."""
        with self._device_lock:
            if self._device is None:
                check_descriptors()
                _core.end_children_with_us(frida._frida.__file__)
                manager = frida.DeviceManager()
                self._device = self._helper.start_with(manager, partial(self._open, manager))
            return self._used(self._device)

    def replace(self, former: DeviceUse) -> None:
        """Another device than `former` has, for all that is started or attached to from now on.

        A device keeps waiting for an agent that does not end, whenever its process is attached to; another one knows
        nothing of it.
        """
        with self._device_lock:
            if self._device is former.device:
                self._device = self._open(frida.DeviceManager())

    def _open(self, manager: Any) -> Any:
        device = manager.get_device_by_type("local", 0)
        device.on("output", self._receive)
        self._managers[device] = manager
        return device

    def _used(self, device: Any) -> DeviceUse:
        self._uses[device] += 1
        return DeviceUse(device, self)

    def _use_again(self, device: Any) -> DeviceUse:
        with self._device_lock:
            return self._used(device)

    def _end_use(self, device: Any) -> None:
        with self._device_lock:
            self._uses[device] -= 1
            if self._uses[device] or device is self._device:
                return
            del self._uses[device]
            manager = self._managers.pop(device)
        threads.start("strobe-frida-close", manager.close, threads.logged_only)  # it may take its time

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
