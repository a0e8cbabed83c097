"""What an ELF file says without debug information: machine, sections, build id, load address, symbol tables.

Every read is bounded by the file; what does not fit ends in ValueError or struct.error.
"""

from __future__ import annotations

import io
import struct
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from strobe._core import SymbolTable
from strobe.errors import failure
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.elf_headers import (
    ET_REL,
    MAGIC,
    SHF_COMPRESSED,
    SHF_EXECINSTR,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_NULL,
    ElfHeaders,
    Section,
    build_id,
    reader_of,
)
from strobe.symbols.objects.image import StoredSection

_ZDEBUG = struct.Struct(">4sQ")  # "ZLIB", size
_CHDR = struct.Struct("<IIQQ")  # Elf64_Chdr: type, reserved, size, alignment
_SYMBOL = struct.Struct("<IBxHQQ")  # Elf64_Sym: name, type and binding, section, value, size
_STT_TLS = 6


class ElfImage:
    """An Image of x86-64 or AArch64. `link_base`: lowest PT_LOAD address, on a page boundary.

    `content`: of a file that lies inside of the one at `path`. `is_program` False: one without code, which need not be
    linked.
    """

    def __init__(self, path: str, content: bytes | None = None, *, is_program: bool = True) -> None:
        self.path = path
        self._stream: BinaryIO = _opened(path) if content is None else io.BytesIO(content)
        try:
            self._headers = ElfHeaders(reader_of(self._stream))
            self._check_machine(is_program=is_program)
            self.machine = self._headers.cpu
            self._by_name = {section.name: section for section in self._headers.sections}
            self.build_id = self._read_build_id()
            self.link_base = self._headers.link_base
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
        """As Image."""
        self._stream.close()

    def sections(self) -> list[StoredSection]:
        """As Image."""
        return self._stored

    @cached_property
    def _stored(self) -> list[StoredSection]:
        return [
            StoredSection(s.name, s.offset, s.size, self._plain_size(s), bool(s.flags & SHF_COMPRESSED), s.address)
            for s in self._headers.sections
            if s.kind not in (SHT_NULL, SHT_NOBITS)
        ]

    def section_size(self, name: str) -> int:
        """As Image; old compressed sections (.zdebug_) count as well."""
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

    def thread_locals(self) -> set[bytes]:
        """Names of the thread-local variables that .symtab defines; none where it was stripped. Raises one of
        UNREADABLE where the table is damaged."""
        section = self._by_name.get(".symtab")
        if section is None or section.kind == SHT_NOBITS:
            return set()
        names = self._content(self._headers.sections[section.link])
        rows = _SYMBOL.iter_unpack(self._content(section)[: section.size // _SYMBOL.size * _SYMBOL.size])
        return {names[name : names.find(b"\0", name)] for name, info, at, *_ in rows if info & 15 == _STT_TLS and at}

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
            raise ValueError(f"{section.name} is truncated")
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
        return build_id([self._content(section)])


def _opened(path: str) -> BinaryIO:
    file = Path(path)
    if file.is_dir():
        raise failure("is_directory", path=path)
    try:
        stream = file.open("rb")
    except OSError as error:
        raise failure("no_such_file", path=path, hint=f"({error.strerror}.)") from error
    if stream.read(len(MAGIC)) != MAGIC:
        stream.close()
        raise failure("not_a_program", path=path)
    stream.seek(0)
    return stream
