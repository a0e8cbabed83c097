"""Decompression of debug sections (System V gABI, compressed sections), into memory or, where large, into a kept file.

Decompression is Python's: zlib releases the interpreter's lock, and needs no library at build time.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any

from strobe._core import FileMap

# Small sections may be as empty as zlib can say (1:1100); of large ones no compiler's shrink to a twentieth.
_ANY_RATIO_BYTES = 16 << 20
_MAX_RATIO = 64
_MAX_RATIO_OF_SMALL = 1100
_PIECE_BYTES = 1 << 16
_ZSTD_MODULES = ("compression.zstd", "backports.zstd")  # of Python 3.14, and the same for older ones


def inflated(name: str, data: memoryview, size: int) -> bytes:
    """`size` bytes from a zlib stream. ValueError where it has others; `name` is the section's."""
    _check_ratio(name, data, size)
    try:
        # a stream that has more than it says is cut off there
        content = zlib.decompressobj().decompress(data, size) if size else b""
    except zlib.error as error:
        raise ValueError(f"{name}: {error}") from error
    return _complete(name, content, size)


def inflated_file(file: Path, name: str, data: memoryview, size: int) -> memoryview:
    """The same as a map of `file`, which is made unless it is there and fits the stream's own checksum.

    It is written under another name first, so that processes never see half of one. OSError where that fails.
    """
    _check_ratio(name, data, size)
    content = _fitting(file, data, size)
    if content is None:
        _inflate_to(file, name, data, size)
        content = _mapped(file, size)
    if content is None:
        raise ValueError(f"{name} is truncated")
    return content


def unzstd(name: str, data: memoryview, size: int) -> bytes:
    """`size` bytes from a zstd frame. ValueError where it has others, or nothing here reads zstd."""
    zstd = _zstd_module()
    if zstd is None:
        raise ValueError(f"{name} is compressed with zstd, which needs the package backports.zstd")
    _check_ratio(name, data, size)
    try:
        content: bytes = zstd.ZstdDecompressor().decompress(data, size)
    except zstd.ZstdError as error:
        raise ValueError(f"{name}: {error}") from error
    return _complete(name, content, size)


def _fitting(file: Path, data: memoryview, size: int) -> memoryview | None:
    """The kept file's content; None where there is none or it has changed. zlib ends with an Adler-32 of it all."""
    content = _mapped(file, size)
    if content is None or zlib.adler32(content) != int.from_bytes(data[-4:], "big"):
        return None
    with contextlib.suppress(OSError):
        os.utime(file)
    return content


def _mapped(file: Path, size: int) -> memoryview | None:
    try:
        with file.open("rb") as stream:
            if size == 0 or os.fstat(stream.fileno()).st_size != size:
                return None
            content = memoryview(FileMap(stream.fileno()))
            return content if len(content) == size else None
    except OSError:
        return None


def _inflate_to(file: Path, name: str, data: memoryview, size: int) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = file.with_suffix(f".{os.getpid()}-{secrets.token_hex(4)}.new")
    stream = zlib.decompressobj()
    written = 0
    try:
        with open(temporary, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as output:
            for start in range(0, len(data), _PIECE_BYTES):
                piece = stream.decompress(data[start : start + _PIECE_BYTES])
                written += len(piece)
                if written > size:
                    raise ValueError(f"{name} is longer than it says")
                output.write(piece)
        if written != size or not stream.eof:
            raise ValueError(f"{name} is truncated")
        temporary.replace(file)
    except zlib.error as error:
        raise ValueError(f"{name}: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _zstd_module() -> Any:
    for module in _ZSTD_MODULES:
        try:
            return import_module(module)
        except ImportError:
            continue
    return None


def _check_ratio(name: str, data: memoryview, size: int) -> None:
    if size > len(data) * (_MAX_RATIO_OF_SMALL if size <= _ANY_RATIO_BYTES else _MAX_RATIO):
        raise ValueError(f"{name} cannot have {size} bytes")


def _complete(name: str, content: bytes, size: int) -> bytes:
    if len(content) != size:
        raise ValueError(f"{name} is truncated")
    return content
