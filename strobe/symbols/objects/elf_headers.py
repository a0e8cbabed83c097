"""What the headers of an ELF file say (System V gABI, chapters 4 and 5), wherever it lies: in a file, in a file within
another one, or in a process's memory.

It is read by `read(offset, size)` alone, which gives fewer bytes where there are no more. What does not fit ends in
ValueError or struct.error.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import BinaryIO, NamedTuple

MAGIC = b"\x7fELF"
ET_REL, ET_EXEC, ET_DYN, ET_CORE = 1, 2, 3, 4
SHT_NULL, SHT_NOTE, SHT_NOBITS = 0, 7, 8
SHF_EXECINSTR, SHF_COMPRESSED = 4, 0x800
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_GNU_EH_FRAME = 1, 2, 3, 4, 0x6474E550
PF_X = 1

_PAGE = 4096
_CLASS_64, _LITTLE_ENDIAN = 2, 1
_CPUS = {62: "x86-64", 183: "aarch64"}
_IDENTIFICATION_BYTES = 16
_HEADER = struct.Struct("<HHIQQQIHHHHHH")  # Elf64_Ehdr behind the identification
_SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr
_SEGMENT = struct.Struct("<IIQQQQQQ")  # Elf64_Phdr: type, flags, offset, vaddr, paddr, filesz, memsz, align
_DYNAMIC = struct.Struct("<QQ")  # Elf64_Dyn
_NOTE = struct.Struct("<III")  # bytes of name, bytes of content, type
_NT_GNU_BUILD_ID = 3
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

Read = Callable[[int, int], bytes]


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
    """A program header. `address` is link-time; `size` in bytes of what the file holds, `memory_size` once loaded."""

    kind: int
    flags: int
    offset: int
    address: int
    size: int
    memory_size: int


class ElfHeaders:
    """`cpu`: as Image.machine has it; "" where the file is for another one, which `machine` says in words, and then
    there is nothing else. `entry`: address of its first instruction, 0 where there is none.
    """

    def __init__(self, read: Read, most_segments: int = 1 << 16) -> None:
        """ValueError where there is no ELF header. `most_segments`: what says to have more is damaged; in a process's
        memory their number may be anything, as the loader leaves out sections."""
        self._read = read
        self._most_segments = most_segments
        identification = self.read(0, _IDENTIFICATION_BYTES, "the file header")
        if not identification.startswith(MAGIC):
            raise ValueError("it does not begin with an ELF header")
        is_64, is_little = identification[4] == _CLASS_64, identification[5] == _LITTLE_ENDIAN
        machine = int.from_bytes(self.read(18, 2, "the file header"), "little" if is_little else "big")
        self.machine = f"{_MACHINES.get(machine, f'machine {machine}')} ({64 if is_64 else 32} bits)"
        self.cpu = _CPUS.get(machine, "") if is_64 and is_little else ""
        self.file_type = self.entry = 0
        self._segments_at = self._segment_bytes = self._segments = 0
        self._sections_at = self._section_bytes = self._sections = self._names = 0
        if self.cpu:
            header = self.read(_IDENTIFICATION_BYTES, _HEADER.size, "the file header")
            self.file_type, _, _, self.entry, self._segments_at, self._sections_at, *rest = _HEADER.unpack(header)
            _, _, self._segment_bytes, self._segments, self._section_bytes, self._sections, self._names = rest

    def read(self, offset: int, size: int, name: str) -> bytes:
        """ValueError where there are fewer bytes than that."""
        content = self._read(offset, size)
        if len(content) != size:
            raise ValueError(f"{name} is truncated")
        return content

    @cached_property
    def segments(self) -> list[Segment]:
        """The program headers. Raises ValueError where they are damaged or more than is allowed."""
        count = self._segments
        if count == _MANY_SEGMENTS and self._sections_at:
            count = self._first_section[7]
        if not self._segments_at or not count:
            return []
        if count > self._most_segments:
            raise ValueError(f"its header claims {count:,} segments")
        _check_entry(self._segment_bytes, _SEGMENT.size, "program")
        table = self.read(self._segments_at, count * _SEGMENT.size, "the table of segments")
        rows = _SEGMENT.iter_unpack(table)
        return [
            Segment(kind, flags, at, address, size, loaded) for kind, flags, at, address, _, size, loaded, _ in rows
        ]

    @cached_property
    def sections(self) -> list[Section]:
        """By their number. Not in memory: the loader leaves them out."""
        if not self._sections_at:
            return []
        first = self._first_section
        names = first[6] if self._names == _MANY_SECTIONS else self._names
        table = self.read(self._sections_at, (self._sections or first[5]) * _SECTION.size, "the table of sections")
        rows = list(_SECTION.iter_unpack(table))
        if names >= len(rows):
            raise ValueError("its sections have no names")
        texts = self.read(rows[names][4], rows[names][5], "the table of section names") if names else b""
        return [
            Section(texts[name : texts.find(b"\0", name)].decode("utf-8", "replace"), *fields)
            for name, *fields, _, _, _ in rows
        ]

    @property
    def link_base(self) -> int:
        """The lowest address that is loaded, on a page boundary."""
        return (
            min((segment.address for segment in self.segments if segment.kind == PT_LOAD), default=0) // _PAGE * _PAGE
        )

    @cached_property
    def _first_section(self) -> tuple[int, ...]:
        _check_entry(self._section_bytes, _SECTION.size, "section")
        return _SECTION.unpack(self.read(self._sections_at, _SECTION.size, "the table of sections"))


def reader_of(stream: BinaryIO) -> Read:
    """Of a file. A damaged size never asks for more memory than the file has."""
    length = stream.seek(0, os.SEEK_END)

    def read(offset: int, size: int) -> bytes:
        if offset + size > length:
            return b""
        stream.seek(offset)
        return stream.read(size)

    return read


def build_id(notes: Iterable[bytes]) -> str | None:
    """The GNU build id in sections or segments of notes."""
    return next(filter(None, map(_build_id, notes)), None)


def _build_id(notes: bytes) -> str | None:
    position = 0
    while position + _NOTE.size <= len(notes):
        name_bytes, size, kind = _NOTE.unpack_from(notes, position)
        name = position + _NOTE.size
        content = name + _aligned(name_bytes)
        if kind == _NT_GNU_BUILD_ID and notes[name : name + name_bytes] == b"GNU\0":
            return notes[content : content + size].hex()
        position = content + _aligned(size)
    return None


def dynamic_entries(content: bytes) -> Iterator[tuple[int, int]]:
    """(tag, value) of the whole entries in a dynamic section."""
    return _DYNAMIC.iter_unpack(content[: len(content) // _DYNAMIC.size * _DYNAMIC.size])


def _aligned(size: int) -> int:
    return (size + 3) // 4 * 4


def _check_entry(size: int, expected: int, name: str) -> None:
    if size != expected:
        raise ValueError(f"its {name} headers have {size} bytes, not {expected}")
