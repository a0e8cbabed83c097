"""A file that is there as a whole or not at all: what was there before stays until all is written."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Opened for writing, beside `path`; takes its place, with its mode, when the `with` ends without an exception.

    Some are written in place, as no other file can stand for them: a device or pipe; a file with several names, or of
    another user or group than a new one would have, or that is open here (/dev/stdout); and one in a folder where no
    other may be made. There what was in the file is gone at once, and a failure leaves what was written until then.

    Raises OSError, also where `path` may not be written.
    """
    before = _stat(path)
    place = Path(os.path.realpath(path))  # what a link leads to; of a pipe in /proc it is no path
    if before is None or _may_be_replaced(before, place):
        beside = place.with_name(f".{place.name[:200]}.{secrets.token_hex(4)}")
        file = _new_like(before, beside)
        if file is not None:
            with _removed_on_failure(beside):
                with file:
                    yield file
                beside.replace(place)
            return
    with path.open("w") as itself:
        yield itself


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _may_be_replaced(before: os.stat_result, place: Path) -> bool:
    """Raises OSError where it may not be written: to replace it, the folder alone would have to be writable."""
    at_place = _stat(place)
    if not stat.S_ISREG(before.st_mode) or at_place is None or not os.path.samestat(before, at_place):
        return False
    os.close(os.open(place, os.O_WRONLY | os.O_CLOEXEC))
    return before.st_nlink == 1 and not _is_open_here(before)


def _is_open_here(file: os.stat_result) -> bool:
    try:
        descriptors = os.listdir("/proc/self/fd")  # noqa: PTH208
    except OSError:  # without /proc nothing leads there but a name
        return False
    for descriptor in descriptors:
        with contextlib.suppress(OSError):  # the one of the list is closed by now
            if os.path.samestat(os.fstat(int(descriptor)), file):
                return True
    return False


def _new_like(before: os.stat_result | None, path: Path) -> TextIO | None:
    """A new file with the mode of `before`. None where none may be made, or it would not be of the same user and
    group."""
    try:
        file = path.open("x")
    except OSError:
        return None
    try:
        if before is None:
            return file
        made = os.fstat(file.fileno())
        if (made.st_uid, made.st_gid) == (before.st_uid, before.st_gid):
            os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            return file
    except OSError:
        pass
    file.close()
    path.unlink()
    return None


@contextlib.contextmanager
def _removed_on_failure(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise
