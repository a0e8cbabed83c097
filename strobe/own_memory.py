"""Memory of this process."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # of glibc's malloc.h
_ARENAS = 2
_MAPPED_BYTES = 256 << 10


def own_kb() -> int:
    """What it has of its own, without files and shared memory (proc(5), RssAnon)."""
    status = Path("/proc/self/status").read_bytes()
    return int(status.partition(b"RssAnon:")[2].split(maxsplit=1)[0])


def prepare_for_long_life() -> None:
    """Keeps what is freed from staying with a process that lives for long and has many threads. glibc has eight arenas
    for each processor, and in each of them free memory lies between what is in use: threads that come after this share
    few. Large blocks, as sections of debug information are, have mappings of their own, which end with them: glibc
    would raise the size from which on that is so with each one that is freed."""
    option = getattr(ctypes.CDLL(None), "mallopt", None)
    if option is not None:
        option(_M_ARENA_MAX, _ARENAS)
        option(_M_MMAP_THRESHOLD, _MAPPED_BYTES)


def give_back() -> None:
    """Returns what is free to the system: also what refers to itself, and what glibc keeps in its arenas."""
    gc.collect()
    trim_arenas()


def trim_arenas() -> None:
    """Returns whole pages that are free in glibc's arenas: between what is in use they may be two thirds of them."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
