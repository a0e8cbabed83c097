"""Whether the system lets this process trace another one and read its memory: tried on a child, which it owns."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from collections.abc import Callable

from strobe.capture.mapped_elf import mappings

_SEIZE = 0x4206  # PTRACE_SEIZE of linux/ptrace.h
_SLEEP = ("sleep", "60")
_EXEC_S, _POLL_S = 1.0, 0.001


class _Span(ctypes.Structure):
    """struct iovec"""

    _fields_ = (("start", ctypes.c_void_p), ("size", ctypes.c_size_t))


def refused() -> str | None:
    """What is refused and why, in words; None where both work. Raises OSError where no child can be started."""
    libc = ctypes.CDLL(None, use_errno=True)
    child = subprocess.Popen(_SLEEP, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = _mapped(child.pid)
        byte = ctypes.create_string_buffer(1)
        here, there = _Span(ctypes.addressof(byte), 1), _Span(address, 1)
        tries: dict[str, Callable[[], int]] = {
            "ptrace": lambda: int(libc.ptrace(_SEIZE, child.pid, None, None)),
            "process_vm_readv": lambda: int(
                libc.process_vm_readv(child.pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
            ),
        }
        for name, attempt in tries.items():
            if attempt() < 0:
                return f"{name}: {os.strerror(ctypes.get_errno())}"
        return None
    finally:
        child.kill()
        child.wait()


def _mapped(pid: int) -> int:
    """An address of the process's memory; of one that is in exec there is none for a moment. 0 where none is seen."""
    deadline = time.monotonic() + _EXEC_S
    while True:
        found = next((item.start for item in mappings(pid)), 0)
        if found or time.monotonic() > deadline:
            return found
        time.sleep(_POLL_S)
