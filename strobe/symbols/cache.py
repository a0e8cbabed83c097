"""What was found in large modules, kept in STROBE_HOME/symbols: a small SQLite file for each, named after its build id.

A file is written under another name and renamed, so that processes never see half of one; readers open it as
immutable. Each part has a checksum. A damaged file, or one of another version, is as if it were not there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import apsw

from strobe.config import home
from strobe.errors import StrobeError
from strobe.symbols.dwarf.columns import Columns

SCHEMA = 12  # to be raised with every change of what is kept, or of how names are made
WORTH_BYTES = 4 << 20  # of .debug_info and symbol tables; less is read anew as fast
CAP_BYTES = 1 << 30  # of the folder; what was not used for the longest time goes
_WRITING_S = 3600  # nothing is written for so long
_UNUSABLE = (OSError, StrobeError, apsw.Error, ValueError, LookupError, TypeError)  # the folder, or a file in it


class SymbolCache:
    """The folder. Nothing here raises: without a cache everything works, only slower."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def load(self, key: str) -> dict[str, bytes] | None:
        """The columns that were kept under `key`."""
        try:
            file = self._file(key)
            if not file.exists():
                return None
            content = _read(file)
            with contextlib.suppress(OSError):  # the folder may be for reading only
                os.utime(file)
            return content
        except _UNUSABLE:
            return None

    def save(self, key: str, content: Columns) -> None:
        """Keeps columns under a key, atomically. A cache that cannot be written is no error."""
        with contextlib.suppress(*_UNUSABLE):
            file = self._file(key)
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = file.with_suffix(f".{os.getpid()}-{secrets.token_hex(4)}.new")
            try:
                _write(temporary, content)
                temporary.replace(file)
            finally:
                temporary.unlink(missing_ok=True)
            _trim(file.parent)

    def prefix(self, key: str) -> Path | None:
        """What files of decompressed sections begin with; None where the folder cannot be had."""
        try:
            return self._file(key).with_suffix("")
        except StrobeError:
            return None

    def _file(self, key: str) -> Path:
        return (self._folder or home() / "symbols") / f"{key}.db"


def key_of(*facts: object) -> str:
    """A file name for what identifies a module, and this version of the cache."""
    return hashlib.sha256(repr((SCHEMA, *facts)).encode()).hexdigest()[:32]


def _trim(folder: Path) -> None:
    """Least recently used files go until the rest fits, and what writers that were killed have left behind."""
    files = sorted(_dated(folder))
    abandoned = {path for used, _, path in files if path.suffix == ".new" and used < time.time() - _WRITING_S}
    total = sum(size for _, size, _ in files)
    for _, size, path in files:
        if total > CAP_BYTES or path in abandoned:
            path.unlink(missing_ok=True)
            total -= size


def _dated(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """(time of last use, bytes, path) of all files; other processes may remove some meanwhile."""
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            status = path.stat()
            yield status.st_mtime, status.st_size, path


def _write(file: Path, content: Columns) -> None:
    connection = apsw.Connection(str(file))
    try:
        os.chmod(file, 0o600)  # noqa: PTH101
        connection.execute("pragma journal_mode = off; pragma synchronous = off; pragma page_size = 65536")
        with connection:
            connection.execute("create table part(name text primary key, checksum integer, content blob)")
            rows = [(name, _checksum(name, column), column) for name, column in content.items()]
            connection.executemany("insert into part values(?, ?, ?)", rows)
    finally:
        connection.close()


def _read(file: Path) -> dict[str, bytes]:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(f"{file.as_uri()}?immutable=1", flags=flags)
    try:
        parts = {}
        for name, checksum, content in connection.execute("select name, checksum, content from part"):
            if not isinstance(content, bytes) or _checksum(str(name), content) != checksum:
                raise ValueError("a damaged part")
            parts[str(name)] = content
        return parts
    finally:
        connection.close()


def _checksum(name: str, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(name.encode()))
