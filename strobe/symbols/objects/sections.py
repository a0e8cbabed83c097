"""Debug sections of an ELF file as plain bytes: read or mapped, and decompressed."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from strobe._core import FileMap
from strobe.dataclass import dataclass
from strobe.symbols.objects.image import Image
from strobe.symbols.objects.inflate import inflated, inflated_file, unzstd

# Beyond it a file is mapped instead of read, so that it takes no memory of its own.
_READ_BYTES = 64 << 20
_KEPT_BYTES = 8 << 20  # what is larger is decompressed into a file, where it costs no memory, nor time again
_CHDR = struct.Struct("<IIQQ")  # Elf64_Chdr: type, reserved, size, alignment
_ZDEBUG = struct.Struct(">4sQ")  # "ZLIB", size
_ZLIB, _ZSTD = 1, 2

Content = bytes | memoryview
SCANNED = (
    ".debug_info",
    ".debug_types",
    ".debug_abbrev",
    ".debug_str",
    ".debug_line_str",
    ".debug_str_offsets",
    ".debug_addr",
    ".debug_ranges",
    ".debug_rnglists",
    ".debug_line",
)  # what strobe._core.Dwarf reads


@dataclass(frozen=True, slots=True)
class _Stored:
    """A section as the file has it."""

    name: str
    content: memoryview
    is_compressed: bool
    is_zdebug: bool


class DebugSections:
    """All `.debug_*` sections of one file, by their name without compression (`.zdebug_info` is `.debug_info`)."""

    def __init__(self, image: Image, kept: Path | None = None) -> None:
        """`kept`: what the names of files begin with that large sections are decompressed into; None: into memory."""
        self._kept = kept
        self._map: FileMap | None = None
        headers = [section for section in image.sections() if _plain_name(section.name)]
        self._stored: dict[str, _Stored] = {}
        self._plain: dict[str, Content] = {}
        with open(image.path, "rb") as file:  # noqa: PTH123
            piece = self._reader(file.fileno(), sum(section.size for section in headers))
            length = os.fstat(file.fileno()).st_size
            if sum(section.size for section in headers) > length:
                raise ValueError("debug sections are truncated or overlap")
            for section in headers:
                if section.offset + section.size > length:
                    raise ValueError(f"{section.name} is truncated")
                content = piece(section.offset, section.size)
                if len(content) != section.size:
                    raise ValueError(f"{section.name} is truncated")
                stored = _Stored(section.name, content, section.is_compressed, section.name.startswith(".zdebug"))
                self._stored.setdefault(_plain_name(section.name), stored)

    def get(self, name: str) -> Content:
        """Content of a section; empty where there is none. Raises ValueError where it cannot be decompressed."""
        if name not in self._plain:
            stored = self._stored.get(name)
            self._plain[name] = b"" if stored is None else self._decompressed(stored)
        return self._plain[name]

    def several(self, names: Iterable[str]) -> dict[str, Content]:
        """The same of several sections, decompressed side by side."""
        present = [name for name in names if name in self._stored]
        with ThreadPoolExecutor(max_workers=4) as pool:
            return dict(zip(present, pool.map(self.get, present), strict=True))

    def check(self) -> None:
        """Raises ValueError where the file lost what was read of it; the rest was read as zeros."""
        if self._map is not None and self._map.was_cut:
            raise ValueError("the file was truncated while it was read")

    def _reader(self, descriptor: int, total_bytes: int) -> Callable[[int, int], memoryview]:
        if total_bytes <= _READ_BYTES:
            return lambda offset, size: memoryview(os.pread(descriptor, size, offset))
        self._map = FileMap(descriptor)
        view = memoryview(self._map)
        return lambda offset, size: view[offset : offset + size]

    def _decompressed(self, stored: _Stored) -> Content:
        data = stored.content
        if stored.is_zdebug:
            magic, size = _ZDEBUG.unpack_from(_at_least(data, _ZDEBUG.size, stored.name))
            return self._inflated(stored.name, data[_ZDEBUG.size :], size) if magic == b"ZLIB" else data
        if not stored.is_compressed:
            return data
        kind, _, size, _ = _CHDR.unpack_from(_at_least(data, _CHDR.size, stored.name))
        if kind == _ZLIB:
            return self._inflated(stored.name, data[_CHDR.size :], size)
        if kind == _ZSTD:
            return unzstd(stored.name, data[_CHDR.size :], size)
        raise ValueError(f"{stored.name} is compressed in an unknown way")

    def _inflated(self, name: str, data: memoryview, size: int) -> Content:
        if self._kept is not None and size >= _KEPT_BYTES:
            file = self._kept.with_name(self._kept.name + name)
            with contextlib.suppress(OSError):  # then without
                return inflated_file(file, name, data, size)
        return inflated(name, data, size)


def _plain_name(name: str) -> str:
    """`.debug_…`, or "" for a section that has no debug information."""
    if name.startswith(".zdebug_"):
        return "." + name[2:]
    return name if name.startswith(".debug_") else ""


def _at_least(data: memoryview, size: int, name: str) -> memoryview:
    if len(data) < size:
        raise ValueError(f"{name} is truncated")
    return data
