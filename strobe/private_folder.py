"""Folders of this user alone. `strobe mcp` runs this before anything else, so it imports nothing but `os`."""
# ruff: noqa: PTH103
# pathlib costs 8 ms, which is more than all of the pump.

from __future__ import annotations

import errno
import os

_OTHERS_WRITE = 0o022
_OTHERS = 0o077
_ONLY_READ = ("settings.json",)


def make_private(path: str | os.PathLike[str]) -> None:
    """Makes the folder with mode 0700; one that is there and is ours gets that mode.

    Raises OSError, with a `strerror` that says what is wrong, where it cannot be made, or it or something in it belongs
    to another user: others may have put that there, or Strobe, run as root.
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
    """What others have put there might be taken for ours; what is root's may not be written, but read."""
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                owner = entry.stat(follow_symlinks=False).st_uid
            except FileNotFoundError:  # it has gone just then
                continue
            if owner == os.geteuid() or (entry.name in _ONLY_READ and not others_write):
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
