"""Mach-O files as an Image: 64-bit objects, programs, libraries, dSYMs, and slices of universal files.

Sections go by the names that ELF has: `__debug_info` of the segment `__DWARF` is `.debug_info`, `__text` is `.text`.
"""

from __future__ import annotations

import bisect
import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from strobe._core import FileMap, SymbolTable
from strobe.errors import failure
from strobe.symbols.damage import UNREADABLE
from strobe.symbols.image import StoredSection
from strobe.symbols.macho_commands import CPU_ARM64, CPU_X86_64, MH_OBJECT, MachLayout, MachSection, read_layout

_NLIST = struct.Struct("<IBBHQ")  # nlist_64: string, type, section, description, value
_N_STAB, _N_PRIVATE_EXTERNAL, _N_TYPE, _N_EXTERNAL = 0xE0, 0x10, 0x0E, 0x01
_N_SECTION = 0x0E  # the type of what is defined in a section
_READ_BYTES = 64 << 20
_SECTION_NAME_BYTES = 16  # what is longer is cut
_LONG_NAMES = (".debug_str_offsets", ".zdebug_str_offsets", ".zdebug_line_str", ".zdebug_rnglists", ".zdebug_loclists")
_LOCAL_LABEL = re.compile(r"(?:ltmp\d+|[lL].*)$")  # the assembler's own, where a function's name begins with `_`


class MachOImage:
    """An Image of x86-64 or arm64. `build_id` is the UUID; `link_base` the address of the segment __TEXT."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._content = _read(path)
            layout = read_layout(self._content)
        except UNREADABLE as error:
            raise failure("damaged_macho", path=path, reason=str(error) or type(error).__name__) from error
        if layout.cpu not in (CPU_X86_64, CPU_ARM64):
            raise failure("wrong_architecture", path=path, machine=layout.machine, host="x86-64")
        self._take(layout)

    def _take(self, layout: MachLayout) -> None:
        self._layout = layout
        self.machine = layout.machine
        self.build_id = layout.uuid
        self.link_base = 0 if layout.file_type == MH_OBJECT else layout.segments.get("__TEXT", 0)
        self._code = [section for section in layout.sections if section.is_code and section.size]
        self.executable = [(section.address, section.address + section.size) for section in self._code]
        self.has_symtab = layout.symbols is not None and layout.symbols[1] > 0

    def close(self) -> None:
        self._content.release()

    def sections(self) -> list[StoredSection]:
        start = self._layout.start
        return [
            StoredSection(
                elf_name(section), start + section.offset, section.size, section.size, address=section.address
            )
            for section in self._layout.sections
            if section.offset
        ]

    def section_size(self, name: str) -> int:
        """Of a section compressed as `__zdebug_`: what the file has."""
        if name == ".symtab":
            return (self._layout.symbols or (0, 0, 0, 0))[1] * _NLIST.size
        wanted = (name, name.replace(".debug_", ".zdebug_"))
        return next((section.size for section in self.sections() if section.name in wanted), 0)

    def add_functions(self, table: SymbolTable) -> None:
        """Defined symbols of sections with code; entries for debuggers and the assembler's own labels are left out.

        The format has no sizes: a function ends where the next begins. Raises one of UNREADABLE for a damaged table.
        """
        found = list(self._symbols())
        starts = sorted({address for _, address, _, _ in found} | set(self._function_starts()))
        for name, address, is_global, is_exported in found:
            table.add(name, address, self._end(address, starts) - address, is_global, is_exported)

    def _end(self, address: int, starts: list[int]) -> int:
        following = bisect.bisect_right(starts, address)
        end = next(stop for start, stop in self.executable if start <= address < stop)
        return min(end, starts[following]) if following < len(starts) else end

    def _symbols(self) -> Iterator[tuple[str, int, bool, bool]]:
        """Name, address, whether other files of the program see it, whether other modules do."""
        if self._layout.symbols is None:
            return
        table, count, strings_at, strings_bytes = self._layout.symbols
        strings = bytes(self._piece(strings_at, strings_bytes))
        sections = self._layout.sections
        for offset, kind, section, _, address in _NLIST.iter_unpack(self._piece(table, count * _NLIST.size)):
            if kind & _N_STAB or kind & _N_TYPE != _N_SECTION or not 0 < section <= len(sections):
                continue
            home = sections[section - 1]
            if not home.is_code or not home.address <= address < home.address + home.size:
                continue
            name = strings[offset : strings.find(b"\0", offset)].decode("utf-8", "replace")
            is_global = bool(kind & _N_EXTERNAL)
            if name and (is_global or not _LOCAL_LABEL.match(name)):
                yield name.removeprefix("_"), address, is_global, is_global and not kind & _N_PRIVATE_EXTERNAL

    def _function_starts(self) -> Iterator[int]:
        """Addresses of LC_FUNCTION_STARTS: differences as LEB128, from __TEXT on."""
        if self._layout.function_starts is None:
            return
        address, difference, shift = self.link_base, 0, 0
        for byte in self._piece(*self._layout.function_starts):
            difference |= (byte & 0x7F) << shift
            shift += 7
            if byte & 0x80 and shift < 64:
                continue
            if difference == 0:
                return
            address += difference
            yield address
            difference = shift = 0

    def _piece(self, offset: int, size: int) -> memoryview:
        if offset + size > self._layout.size:
            raise ValueError("a table is cut short")
        start = self._layout.start + offset
        return self._content[start : start + size]


def elf_name(section: MachSection) -> str:
    """`__debug_str_offs`, which is cut at 16 characters, is `.debug_str_offsets`."""
    name = "." + section.name.removeprefix("__")
    if len(section.name) == _SECTION_NAME_BYTES:
        return next((long for long in _LONG_NAMES if long.startswith(name)), name)
    return name


def _read(path: str) -> memoryview:
    """Large files are mapped, for memory's sake."""
    try:
        with Path(path).open("rb") as stream:
            if os.fstat(stream.fileno()).st_size <= _READ_BYTES:
                return memoryview(stream.read())
            return memoryview(FileMap(stream.fileno()))
    except OSError as error:
        raise failure("no_such_file", path=path, hint=f"({error.strerror}.)") from error
