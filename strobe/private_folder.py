"""Folders of this user alone. `strobe mcp` runs this before anything else, so it imports nothing but `os`."""
# ruff: noqa: PTH103
# pathlib costs 8 ms, which is more than all of the pump.

from __future__ import annotations

import errno
import os

_OTHERS_WRITE = 0o022
_OTHERS = 0o077
# with what each file or folder begins that Strobe makes there; SQLite and rotation add endings
_OURS = ("strobe.", "http.token", "owners", "sessions", "symbols")


def make_private(path: str | os.PathLike[str]) -> None:
    """Makes the folder with mode 0700; one that is there and is ours gets that mode.

    Raises OSError, with a `strerror` that says what is wrong, where it cannot be made, or it or what Strobe uses in it
    belongs to another user, as after Strobe was run as root. Where others can write in it, that holds for all in it.
    """
    os.makedirs(path, mode=0o700, exist_ok=True)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _check_owner(folder)
        mode = os.fstat(folder).st_mode
        _check_entries(folder, bool(mode & _OTHERS_WRITE))
        if mode & _OTHERS:
            _tighten(folder, bool(mode & _OTHERS_WRITE))
    finally:
        os.close(folder)


def _check_owner(folder: int) -> None:
    owner = os.fstat(folder).st_uid
    if owner != os.geteuid():
        raise _refused(f"it belongs to user {owner}, and Strobe runs as user {os.geteuid()}")


def _check_entries(folder: int, others_write: bool) -> None:
    """What others have put there might be taken for ours; what is root's may not be written, but read.

    What else is in a folder in which they cannot write is none of Strobe's business, as `lost+found` of a volume.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                owner = entry.stat(follow_symlinks=False).st_uid
            except FileNotFoundError:  # it has gone just then
                continue
            if owner == os.geteuid() or not (others_write or entry.name.startswith(_OURS)):
                continue
            why = "others can write in it, and " if others_write else ""
            whose = f"belongs to user {owner}, and Strobe runs as user {os.geteuid()}"
            raise _refused(f"{why}'{entry.name}' in it {whose}")


def _tighten(folder: int, must: bool) -> None:
    try:
        os.fchmod(folder, 0o700)
    except OSError:
        if must:
            raise
    if os.fstat(folder).st_mode & _OTHERS_WRITE:
        raise _refused("others can write in it, and its file system does not let that be changed")


def _refused(reason: str) -> OSError:
    return PermissionError(errno.EPERM, reason)
