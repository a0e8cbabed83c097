"""What an ELF file says without debug information (System V gABI, chapters 4 and 5): machine, sections, segments, build
id, load address, symbol tables.

Every read is bounded by the file; what does not fit ends in ValueError or struct.error.
"""

from __future__ import annotations

import io
import os
import struct
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, NamedTuple

from strobe._core import SymbolTable
from strobe.errors import failure
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.image import StoredSection

_PAGE = 4096
_ZDEBUG = struct.Struct(">4sQ")  # "ZLIB", size
_CHDR = struct.Struct("<IIQQ")  # Elf64_Chdr: type, reserved, size, alignment
_NOTE = struct.Struct("<III")  # bytes of name, bytes of content, type
_NT_GNU_BUILD_ID = 3


class ElfImage:
    """An Image of x86-64 or AArch64. `link_base`: lowest PT_LOAD address, on a page boundary.

    `content`: of a file that lies inside of the one at `path`. `is_program` False: one without code, which need not be
    linked.
    """

    def __init__(self, path: str, content: bytes | None = None, *, is_program: bool = True) -> None:
        self.path = path
        self._stream: BinaryIO = _opened(path) if content is None else io.BytesIO(content)
        try:
            self._headers = ElfHeaders(self._stream)
            self._check_machine(is_program=is_program)
            self.machine = self._headers.cpu
            self._by_name = {section.name: section for section in self._headers.sections}
            self.build_id = self._read_build_id()
            loads = [segment.address for segment in self._headers.segments if segment.kind == PT_LOAD]
            self.link_base = min(loads, default=0) // _PAGE * _PAGE
            code = [section for section in self._headers.sections if section.flags & SHF_EXECINSTR]
            self.executable = [(section.address, section.address + section.size) for section in code]
            self.has_symtab = ".symtab" in self._by_name
        except UNREADABLE as error:
            self.close()
            raise failure("damaged_elf", path=path, reason=str(error) or type(error).__name__) from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._stream.close()

    def sections(self) -> list[StoredSection]:
        return self._stored

    @cached_property
    def _stored(self) -> list[StoredSection]:
        return [
            StoredSection(s.name, s.offset, s.size, self._plain_size(s), bool(s.flags & SHF_COMPRESSED), s.address)
            for s in self._headers.sections
            if s.kind not in (SHT_NULL, SHT_NOBITS)
        ]

    def section_size(self, name: str) -> int:
        section = self._by_name.get(name)
        if section is None and name.startswith(".debug_"):
            section = self._by_name.get(f".z{name[1:]}")
        return 0 if section is None or section.kind == SHT_NOBITS else self._plain_size(section)

    def add_functions(self, table: SymbolTable) -> None:
        """Defined functions of .dynsym and .symtab; one name at one address comes twice when it is in both."""
        for name in (".dynsym", ".symtab"):
            section = self._by_name.get(name)
            if section is None or section.kind == SHT_NOBITS:
                continue
            strings = self._content(self._headers.sections[section.link])
            table.add_elf(self._content(section), strings, self.executable, name == ".dynsym")

    def _plain_size(self, section: Section) -> int:
        """Once decompressed; GNU's .zdebug sections say it themselves."""
        if section.flags & SHF_COMPRESSED:
            _, _, size, _ = _CHDR.unpack(self._headers.read(section.offset, _CHDR.size, section.name))
            return int(size)
        if not section.name.startswith(".zdebug_"):
            return section.size
        self._stream.seek(section.offset)
        magic, size = _ZDEBUG.unpack(self._stream.read(_ZDEBUG.size).ljust(_ZDEBUG.size, b"\0"))
        return int(size) if magic == b"ZLIB" else section.size

    def _content(self, section: Section) -> bytes:
        """Of a section that is never compressed."""
        if section.flags & SHF_COMPRESSED:
            raise ValueError(f"{section.name} is cut short")
        return self._headers.read(section.offset, section.size, section.name)

    def _check_machine(self, *, is_program: bool) -> None:
        if not self._headers.cpu:
            machine = self._headers.machine
            raise failure("wrong_architecture", path=self.path, machine=machine, host="x64 (64 bits)")
        if is_program and self._headers.file_type == ET_REL:
            raise failure("not_linked", path=self.path)

    def _read_build_id(self) -> str | None:
        section = self._by_name.get(".note.gnu.build-id")
        if section is None or section.kind != SHT_NOTE:
            return None
        content = self._content(section)
        position = 0
        while position + _NOTE.size <= len(content):
            name_bytes, size, kind = _NOTE.unpack_from(content, position)
            start = position + _NOTE.size
            end = start + _aligned(name_bytes)
            if kind == _NT_GNU_BUILD_ID and content[start : start + name_bytes] == b"GNU\0":
                return content[end : end + size].hex()
            position = end + _aligned(size)
        return None


def _aligned(size: int) -> int:
    return (size + 3) // 4 * 4


def _opened(path: str) -> BinaryIO:
    file = Path(path)
    if file.is_dir():
        raise failure("is_directory", path=path)
    try:
        stream = file.open("rb")
    except OSError as error:
        raise failure("no_such_file", path=path, hint=f"({error.strerror}.)") from error
    if stream.read(4) != b"\x7fELF":
        stream.close()
        raise failure("not_a_program", path=path)
    stream.seek(0)
    return stream


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
