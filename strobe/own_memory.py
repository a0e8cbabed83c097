"""Memory of this process."""

from __future__ import annotations

import ctypes
from pathlib import Path


def own_kb() -> int:
    """What it has of its own, without files and shared memory (proc(5), RssAnon)."""
    status = Path("/proc/self/status").read_bytes()
    return int(status.partition(b"RssAnon:")[2].split(maxsplit=1)[0])


def give_back() -> None:
    """Has the C library return to the system what is free; glibc keeps it in each thread's arena."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
