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

_FIRST, _END = 3, 128
_SHARE = 4  # of the limit of descriptors: no more are taken
_FRIDAS = "/memfd:frida-"  # files that Frida has open here, and that a program inherits
_lock = threading.Lock()


@contextlib.contextmanager
def low_descriptors_taken() -> Iterator[list[int]]:
    """A program that is started meanwhile has something at each low number: our own files where they are, else a file
    of no use. Gives the numbers of those that are not for it; it must not run before they are closed."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    end = _END if limit == resource.RLIM_INFINITY else min(_END, limit // _SHARE)
    own: list[int] = []
    made: list[int] = []
    with _lock:
        try:
            _take(range(_FIRST, end), own, made)
            yield own + made
        finally:
            for number in own:
                with contextlib.suppress(OSError):  # closed by its owner since
                    os.set_inheritable(number, False)
            for number in made:
                os.close(number)


def _take(numbers: range, own: list[int], made: list[int]) -> None:
    with contextlib.suppress(OSError):  # as many as there are
        source = os.memfd_create("strobe", os.MFD_CLOEXEC)
        made.append(source)
        os.set_inheritable(source, True)
        for number in numbers:
            if number == source:
                continue
            if (given := fcntl.fcntl(source, fcntl.F_DUPFD, number)) == number:
                made.append(number)
                continue
            os.close(given)
            with contextlib.suppress(OSError):  # closed at this moment
                if not os.get_inheritable(number):
                    own.append(number)
                    os.set_inheritable(number, True)


def fridas_descriptors(pid: int) -> list[int]:
    """Those that the process has only because Frida has started it."""
    found = []
    with contextlib.suppress(OSError):  # it has ended, which is told elsewhere
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if str(entry.readlink()).startswith(_FRIDAS):
                    found.append(int(entry.name))
    return found
