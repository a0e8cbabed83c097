"""Memory of this process."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path

_M_ARENA_MAX = -8  # of glibc's malloc.h
_ARENAS = 2


def own_kb() -> int:
    """What it has of its own, without files and shared memory (proc(5), RssAnon)."""
    status = Path("/proc/self/status").read_bytes()
    return int(status.partition(b"RssAnon:")[2].split(maxsplit=1)[0])


def share_arenas() -> None:
    """Has threads that come after this allocate from few arenas: glibc has eight for each processor, and in each of
    them some of what was freed lies between what is in use. For a process that lives for long and has many threads."""
    option = getattr(ctypes.CDLL(None), "mallopt", None)
    if option is not None:
        option(_M_ARENA_MAX, _ARENAS)


def give_back() -> None:
    """Returns what is free to the system: also what refers to itself, and what glibc keeps in its arenas."""
    gc.collect()
    trim_arenas()


def trim_arenas() -> None:
    """Returns whole pages that are free in glibc's arenas: between what is in use they may be two thirds of them."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
