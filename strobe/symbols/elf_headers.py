"""What the headers of an ELF file say (System V gABI, chapters 4 and 5): machine, sections, segments.

Every read is bounded by the file; what does not fit ends in ValueError or struct.error.
"""

from __future__ import annotations

import os
import struct
from typing import BinaryIO, NamedTuple

ET_REL = 1
SHT_NULL, SHT_NOTE, SHT_NOBITS = 0, 7, 8
SHF_EXECINSTR, SHF_COMPRESSED = 4, 0x800
PT_LOAD = 1

_CLASS_64, _LITTLE_ENDIAN = 2, 1
_CPUS = {62: "x86-64", 183: "aarch64"}
_IDENTIFICATION_BYTES = 16
_HEADER = struct.Struct("<HHIQQQIHHHHHH")  # Elf64_Ehdr behind the identification
_SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr
_SEGMENT = struct.Struct("<IIQQQQQQ")  # Elf64_Phdr
_MANY_SEGMENTS, _MANY_SECTIONS = 0xFFFF, 0xFFFF  # PN_XNUM, SHN_XINDEX: the first section has the number
_MACHINES = {
    2: "SPARC",
    3: "x86",
    8: "MIPS",
    20: "PowerPC",
    21: "64-bit PowerPC",
    22: "IBM S/390",
    40: "ARM",
    62: "x64",
    183: "AArch64",
    243: "RISC-V",
    258: "LoongArch",
}


class Section(NamedTuple):
    """A section header. `link`: number of another section."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int


class Segment(NamedTuple):
    """A program header."""

    kind: int
    address: int


class ElfHeaders:
    """`cpu`: as Image.machine has it; "" where the file is for another one, which `machine` says in words, and then
    there is nothing else.

    `sections` by their number.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.length = stream.seek(0, os.SEEK_END)
        identification = self.read(0, _IDENTIFICATION_BYTES, "the file header")
        self.sections: list[Section] = []
        self.segments: list[Segment] = []
        is_64, is_little = identification[4] == _CLASS_64, identification[5] == _LITTLE_ENDIAN
        machine = int.from_bytes(self.read(18, 2, "the file header"), "little" if is_little else "big")
        self.machine = f"{_MACHINES.get(machine, f'machine {machine}')} ({64 if is_64 else 32} bits)"
        self.cpu = _CPUS.get(machine, "") if is_64 and is_little else ""
        if self.cpu:
            self._read_tables()

    def read(self, offset: int, size: int, name: str) -> bytes:
        """ValueError where the file ends before. A damaged size must not ask for more memory than the file has."""
        if offset + size > self.length:
            raise ValueError(f"{name} is cut short")
        self._stream.seek(offset)
        content = self._stream.read(size)
        if len(content) != size:
            raise ValueError(f"{name} is cut short")
        return content

    def _read_tables(self) -> None:
        header = self.read(_IDENTIFICATION_BYTES, _HEADER.size, "the file header")
        self.file_type, _, _, _, segments_at, sections_at, _, _, segment_bytes, segments, *rest = _HEADER.unpack(header)
        section_bytes, sections, names = rest
        if sections_at:
            _check_entry(section_bytes, _SECTION.size, "section")
            first = _SECTION.unpack(self.read(sections_at, _SECTION.size, "the table of sections"))
            sections = sections or first[5]
            names = first[6] if names == _MANY_SECTIONS else names
            segments = first[7] if segments == _MANY_SEGMENTS else segments
            table = self.read(sections_at, sections * _SECTION.size, "the table of sections")
            self._add_sections(list(_SECTION.iter_unpack(table)), names)
        if segments_at and segments:
            _check_entry(segment_bytes, _SEGMENT.size, "program")
            table = self.read(segments_at, segments * _SEGMENT.size, "the table of segments")
            self.segments = [Segment(row[0], row[3]) for row in _SEGMENT.iter_unpack(table)]

    def _add_sections(self, rows: list[tuple[int, ...]], names: int) -> None:
        if names >= len(rows):
            raise ValueError("its sections have no names")
        texts = self.read(rows[names][4], rows[names][5], "the table of section names") if names else b""
        for name, kind, flags, address, offset, size, link, *_ in rows:
            text = texts[name : texts.find(b"\0", name)].decode("utf-8", "replace")
            self.sections.append(Section(text, kind, flags, address, offset, size, link))


def _check_entry(size: int, expected: int, name: str) -> None:
    if size != expected:
        raise ValueError(f"its {name} headers have {size} bytes, not {expected}")
