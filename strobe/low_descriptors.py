"""Descriptors of a program that is started: its first open() gives what it gives untraced, though Frida's agent has
sockets there. The low numbers are taken until the agent has its own; then what is not the program's is closed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

from strobe.errors import StrobeError, failure

_FIRST, _END = 3, 64
_LEAST_LIMIT = 512  # of descriptors: else none are taken
_FRIDAS = "/memfd:frida-"  # files that Frida has open here, and that a program inherits
_reserved: list[int] = []
_lock = threading.Lock()


def none_left(path: str | os.PathLike[str]) -> StrobeError:
    """limit_too_low, where `path` could not be opened because this process may have no more open files (EMFILE)."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    facts = {"what": "open files", "option": "-n", "limit": f"{limit}, too few to open '{path}'", "needed": "64"}
    return failure("limit_too_low", **facts)


def reserve() -> None:
    """At the beginning of a process of ours: what it opens lies above, so that all low numbers can be given on."""
    with _lock:
        _reserved.extend(_taken())


def _taken() -> list[int]:
    """The low numbers that are free, as many as there are, with a file of no use. Nobody inherits them."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    numbers: list[int] = []
    if 0 <= limit < _LEAST_LIMIT:
        return numbers
    with contextlib.suppress(OSError):
        numbers.append(os.memfd_create("strobe", os.MFD_CLOEXEC))
        while numbers[-1] < _END:
            numbers.append(fcntl.fcntl(numbers[0], fcntl.F_DUPFD_CLOEXEC, _FIRST))
        os.close(numbers.pop())
    return numbers


@contextlib.contextmanager
def low_descriptors_taken() -> Iterator[list[int]]:
    """Programs that are started meanwhile have something at each low number that is not ours. Gives the numbers, which
    are to be closed before such a program runs."""
    with _lock:
        free = _taken()
        try:
            for number in _reserved + free:
                os.set_inheritable(number, True)
            yield _reserved + free
        finally:
            for number in _reserved:
                os.set_inheritable(number, False)
            for number in free:
                os.close(number)


def fridas_descriptors(pid: int) -> list[int]:
    """Those that the process has only because Frida has started it."""
    found = []
    with contextlib.suppress(OSError):  # it has ended, which is reported elsewhere
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if str(entry.readlink()).startswith(_FRIDAS):
                    found.append(int(entry.name))
    return found
