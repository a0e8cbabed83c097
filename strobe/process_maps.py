"""/proc/PID/maps and /proc/PID/exe as proc(5) has them: which names of files are meant by their texts.

The kernel writes a newline in a name as `\\012`, and leaves a backslash as it is; behind the name of a removed file
it writes ` (deleted)`, which a name may end in, too. So where a text means two names, the file decides.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from strobe.dataclass import dataclass

_DELETED = " (deleted)"
_NEWLINE = r"\012"


@dataclass(frozen=True, slots=True)
class MapsLine:
    """One mapping. `permissions`: "rw-p". `device`: as os.makedev has it. `name`: as it is written there; of a file,
    "[heap]", or empty."""

    start: int
    end: int
    permissions: str
    offset: int
    device: int
    inode: int
    name: str

    @property
    def path(self) -> str:
        """The name that the file has, or had before it was removed."""
        return named_file(self.name, self.inode)


def maps_lines(text: str) -> Iterator[MapsLine]:
    """The lines of /proc/PID/maps. Only a newline ends one; names may contain what str.splitlines() splits at."""
    for line in text.split("\n"):
        fields = line.split(" ", 5)
        if len(fields) < 5:
            continue
        start, end = (int(part, 16) for part in fields[0].split("-"))
        major, minor = (int(part, 16) for part in fields[3].split(":"))
        inode, name = int(fields[4]), fields[5].lstrip(" ") if len(fields) > 5 else ""
        yield MapsLine(start, end, fields[1], int(fields[2], 16), os.makedev(major, minor), inode, name)


def is_ambiguous(name: str) -> bool:
    """Whether a file's name in /proc/PID/maps may mean another name than its text."""
    return _NEWLINE in name or name.endswith(_DELETED)


def named_file(name: str, inode: int) -> str:
    """The file that a name in /proc/PID/maps means: the one that is that inode, else the name of a removed file."""
    if not is_ambiguous(name):
        return name
    unescaped = name.replace(_NEWLINE, "\n")
    removed = unescaped.removesuffix(_DELETED), name.removesuffix(_DELETED)
    for path in (unescaped, name):
        if _inode(path) == inode:
            return path
    return next((path for path in removed if _inode(path) is not None), removed[0])


def executable(link: Path) -> str:
    """The path of the program that /proc/PID/exe leads to, or had before it was removed. OSError as readlink."""
    text = os.readlink(link)  # noqa: PTH115 - a Path would drop what it takes for needless
    if not text.endswith(_DELETED):
        return text
    try:
        return text if os.path.samefile(text, link) else text.removesuffix(_DELETED)  # noqa: PTH121
    except OSError:
        return text.removesuffix(_DELETED)


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino  # noqa: PTH116
    except (OSError, ValueError):
        return None
