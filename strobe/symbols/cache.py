"""What was found in large modules, kept in STROBE_HOME/symbols: a small SQLite file for each, named after its build id.

A file is written under another name and renamed, so that processes never see half of one; readers open it as
immutable. Each part has a checksum. A damaged file, or one of another version, is as if it were not there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import zlib
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from strobe.config import home
from strobe.errors import StrobeError
from strobe.model import FunctionSymbol

SCHEMA = 1  # to be raised with every change of what is kept, or of how names are made
WORTH_BYTES = 4 << 20  # of .debug_info and symbol tables; less is read anew as fast
CAP_BYTES = 1 << 30  # of the folder; what was not used for the longest time goes
_NONE = 2**32 - 1
_NO_DIE = 2**64 - 1
_UNUSABLE = (OSError, StrobeError, apsw.Error, ValueError, LookupError, TypeError)  # the folder, or a file in it


@dataclass
class CachedModule:
    """What a module's reading gives, except for where the file lies."""

    facts: dict[str, Any]  # JSON
    functions: list[FunctionSymbol]
    inlined_sites: dict[str, int]
    die_offsets: dict[int, int]  # address -> DIE
    open_addresses: set[int]


class SymbolCache:
    """The folder. Nothing here raises: without a cache everything works, only slower."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def load(self, key: str, path: str) -> CachedModule | None:
        """What was kept under `key`, as functions of the module at `path`."""
        try:
            file = self._file(key)
            if not file.exists():
                return None
            parts = _read(file)
            os.utime(file)
            return _unpacked(parts, path)
        except _UNUSABLE:
            return None

    def save(self, key: str, module: CachedModule) -> None:
        with contextlib.suppress(*_UNUSABLE):
            file = self._file(key)
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = file.with_suffix(f".{os.getpid()}-{secrets.token_hex(4)}.new")
            try:
                _write(temporary, _packed(module))
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
    """Least recently used files go until the rest fits; so do leftovers of writers that were killed, in time."""
    files = sorted((status.st_mtime, status.st_size, path) for path in folder.iterdir() if (status := path.stat()))
    total = sum(size for _, size, _ in files)
    for _, size, path in files:
        if total <= CAP_BYTES:
            break
        path.unlink(missing_ok=True)
        total -= size


def _write(file: Path, parts: dict[str, bytes]) -> None:
    connection = apsw.Connection(str(file))
    try:
        os.chmod(file, 0o600)  # noqa: PTH101
        connection.execute("pragma journal_mode = off; pragma synchronous = off; pragma page_size = 65536")
        with connection:
            connection.execute("create table part(name text primary key, checksum integer, content blob) without rowid")
            rows = [(name, zlib.crc32(content), content) for name, content in parts.items()]
            connection.executemany("insert into part values(?, ?, ?)", rows)
    finally:
        connection.close()


def _read(file: Path) -> dict[str, bytes]:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(f"{file.as_uri()}?immutable=1", flags=flags)
    try:
        parts = {}
        for name, checksum, content in connection.execute("select name, checksum, content from part"):
            if not isinstance(content, bytes) or zlib.crc32(content) != checksum:
                raise ValueError("a damaged part")
            parts[str(name)] = content
        return parts
    finally:
        connection.close()


def _packed(module: CachedModule) -> dict[str, bytes]:
    functions = module.functions
    files = {
        name: number for number, name in enumerate(dict.fromkeys(f.source_file for f in functions if f.source_file))
    }
    return {
        "facts": json.dumps(module.facts).encode(),
        "files": _text(files),
        "name": _text(function.name for function in functions),
        "raw_name": _text(function.raw_name for function in functions),
        "address": array("Q", (function.address for function in functions)).tobytes(),
        "size": array("Q", (function.size for function in functions)).tobytes(),
        "file": array("I", (files.get(f.source_file or "", _NONE) for f in functions)).tobytes(),
        "line": array("I", (_NONE if f.line is None else f.line for f in functions)).tobytes(),
        "exported": bytes(function.exported for function in functions),
        "die": array("Q", (module.die_offsets.get(f.address, _NO_DIE) for f in functions)).tobytes(),
        "open": array("Q", sorted(module.open_addresses)).tobytes(),
        "inlined_name": _text(module.inlined_sites),
        "inlined_sites": array("Q", module.inlined_sites.values()).tobytes(),
    }


def _unpacked(parts: dict[str, bytes], path: str) -> CachedModule:
    files = [*_texts(parts["files"])]
    sources = [None if number == _NONE else files[number] for number in memoryview(parts["file"]).cast("I")]
    lines = [None if line == _NONE else line for line in memoryview(parts["line"]).cast("I")]
    addresses, sizes, dies = (memoryview(parts[name]).cast("Q").tolist() for name in ("address", "size", "die"))
    columns = (_texts(parts["name"]), _texts(parts["raw_name"]), addresses, sizes, sources, lines, parts["exported"])
    functions = [
        FunctionSymbol(name, raw_name, path, address, size, source, line, exported=bool(exported))
        for name, raw_name, address, size, source, line, exported in zip(*columns, strict=True)
    ]
    inlined = zip(_texts(parts["inlined_name"]), memoryview(parts["inlined_sites"]).cast("Q"), strict=True)
    die_offsets = {address: die for address, die in zip(addresses, dies, strict=True) if die != _NO_DIE}
    open_addresses = set(memoryview(parts["open"]).cast("Q"))
    return CachedModule(json.loads(parts["facts"]), functions, dict(inlined), die_offsets, open_addresses)


def _text(strings: Iterable[str]) -> bytes:
    return "".join(f"{string}\0" for string in strings).encode()


def _texts(column: bytes) -> list[str]:
    return column.decode().split("\0")[:-1]
