"""pyelftools over the sections of one file: for what is read of a single DIE, never of all."""

from __future__ import annotations

import io
from typing import Any

from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig

from strobe.symbols.dwarf.units import ALTERNATE, UnitFinder
from strobe.symbols.objects.sections import Content, DebugSections

_COPIED_BYTES = 16 << 20
_MAX_STRING_BYTES = 1 << 18
_STRINGS = (".debug_str", ".debug_line_str")
_READ = (
    "info",
    "types",
    "abbrev",
    "str",
    "line_str",
    "str_offsets",
    "addr",
    "ranges",
    "rnglists",
    "loc",
    "loclists",
    "line",
)
_LEFT_OUT = (
    "debug_aranges",
    "debug_frame",
    "eh_frame",
    "debug_pubtypes",
    "debug_pubnames",
    "debug_sup",
    "gnu_debugaltlink",
)


class _ViewStream:
    """Reads bytes where they lie, for pyelftools: a copy of a large section would double its memory."""

    def __init__(self, view: memoryview, base: int = 0) -> None:
        """`base`: the position of the first byte."""
        self._view = view
        self._base = base
        self._position = 0

    def read(self, size: int = -1) -> bytes:
        start = self._position
        end = len(self._view) if size < 0 else min(start + size, len(self._view))
        self._position = max(start, end)
        return bytes(self._view[start:end])

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: -self._base, io.SEEK_CUR: self._position, io.SEEK_END: len(self._view)}[whence]
        if base + offset < 0:
            raise ValueError("a negative position")
        self._position = base + offset
        return self.tell()

    def tell(self) -> int:
        return self._base + self._position


def open_dwarf(sections: DebugSections, alternate: DebugSections | None = None) -> UnitFinder:
    """Sections are decompressed as far as types, lines and locations need them.

    `alternate`: those of the file that dwz has moved common parts to; offsets of DIEs there have the bit ALTERNATE.
    """
    finder = _opened(sections, 0)
    if alternate is not None:
        finder.supplementary_dwarfinfo = _opened(alternate, ALTERNATE)
    return finder


def _opened(sections: DebugSections, base: int) -> UnitFinder:
    def section(name: str) -> Any:
        content = sections.get(name)
        if name in _STRINGS:
            _check_strings(name, content)
        stream = _stream(content, base if name == ".debug_info" else 0)
        return None if len(content) == 0 else DebugSectionDescriptor(stream, name, None, len(content), 0)

    # frames and indexes by name are not needed
    left_out = dict.fromkeys(f"{name}_sec" for name in _LEFT_OUT)
    read = {f"debug_{name}_sec": section(f".debug_{name}") for name in _READ}
    config = DwarfConfig(little_endian=True, machine_arch="x64", default_address_size=8)
    return UnitFinder(base, config=config, **read, **left_out)


def _check_strings(name: str, content: Content) -> None:
    """pyelftools reads 64 bytes at a time: a damaged string of megabytes would take seconds, each time."""
    for start in range(0, len(content) - _MAX_STRING_BYTES, _MAX_STRING_BYTES):
        if b"\0" not in bytes(content[start : start + _MAX_STRING_BYTES]):
            raise ValueError(f"{name} has an unterminated string")


def _stream(content: Content, base: int) -> Any:
    if base or len(content) > _COPIED_BYTES:
        return _ViewStream(memoryview(content), base)
    whole = content.obj if isinstance(content, memoryview) else content
    # a BytesIO of bytes is no copy of them
    return io.BytesIO(whole if isinstance(whole, bytes) and len(whole) == len(content) else content)
