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

    A device or pipe is written itself, and so is a file in a folder where no other one may be made. Raises OSError.
    """
    place = Path(os.path.realpath(path))  # what a link leads to
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with place.open("w") as itself:
            yield itself
        return
    beside = place.with_name(f".{place.name[:200]}.{secrets.token_hex(4)}")
    try:
        file = beside.open("x")
    except OSError:
        with place.open("w") as itself:
            yield itself
        return
    try:
        with file:
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            yield file
        beside.replace(place)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
