"""What an ELF file says without debug information: build id, load address, symbol tables (System V gABI, chapter 4)."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, Section

from strobe.errors import failure
from strobe.symbols.damage import UNREADABLE
from strobe.symbols.image import StoredSection, TableFunction

_PAGE = 4096
_ZDEBUG = struct.Struct(">4sQ")  # "ZLIB", size
_SYMBOL = struct.Struct("<IBBHQQ")  # Elf64_Sym: name, info, other, section, value, size
_STT_FUNC = 2
_STB_GLOBAL, _STB_WEAK, _STB_UNIQUE = 1, 2, 10
_STV_HIDDEN, _STV_INTERNAL = 2, 1
_SHN_UNDEF, _SHN_RESERVED = 0, 0xFF00
_SHF_EXECINSTR, _SHF_COMPRESSED = 4, 0x800


class _Elf(ELFFile):
    """Without hash tables: pyelftools 0.33 reads each whole when it comes by, which takes longer than all the rest."""

    def _make_elf_hash_section(self, section_header: Any, name: str) -> Any:
        return Section(section_header, name, self)

    def _make_gnu_hash_section(self, section_header: Any, name: str) -> Any:
        return Section(section_header, name, self)


class ElfImage:
    """An Image of 64-bit x86. `link_base`: lowest PT_LOAD address, on a page boundary.

    `content`: of a file that lies inside of the one at `path`. `is_program` False: one without code, which need not be
    linked.
    """

    def __init__(self, path: str, content: bytes | None = None, *, is_program: bool = True) -> None:
        self.path, self.machine = path, "x86-64"
        self._stream: BinaryIO = _opened(path) if content is None else io.BytesIO(content)
        try:
            self.elf = _Elf(self._stream)
            self._check_machine(is_program=is_program)
            self.build_id = self._read_build_id()
            self.link_base = self._lowest_load()
            self.executable = [
                (section["sh_addr"], section["sh_addr"] + section["sh_size"])
                for section in self.elf.iter_sections()
                if section["sh_flags"] & _SHF_EXECINSTR
            ]
            self.has_symtab = self.elf.get_section_by_name(".symtab") is not None
        except UNREADABLE as error:
            self.close()
            raise failure("damaged_elf", path=path, reason=str(error) or type(error).__name__) from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._stream.close()

    def sections(self) -> list[StoredSection]:
        return [
            StoredSection(
                s.name,
                s["sh_offset"],
                s["sh_size"],
                self._plain_size(s),
                bool(s["sh_flags"] & _SHF_COMPRESSED),
                s["sh_addr"],
            )
            for s in self.elf.iter_sections()
            if s["sh_type"] not in ("SHT_NULL", "SHT_NOBITS")
        ]

    def section_size(self, name: str) -> int:
        section = self.elf.get_section_by_name(name)
        if section is None and name.startswith(".debug_"):
            section = self.elf.get_section_by_name(f".z{name[1:]}")
        return 0 if section is None or section["sh_type"] == "SHT_NOBITS" else self._plain_size(section)

    def functions(self) -> Iterator[TableFunction]:
        """Defined functions of .symtab and .dynsym; one name at one address comes twice when it is in both.

        STT_GNU_IFUNC is left out: what lies there chooses an implementation, and is not called with the arguments.
        Raises one of UNREADABLE where a table is damaged.
        """
        for name in (".dynsym", ".symtab"):
            yield from self._table(name)

    def is_code(self, address: int) -> bool:
        for start, end in self.executable:  # noqa: SIM110  (any() takes four times as long, for each symbol)
            if start <= address < end:
                return True
        return False

    def _table(self, name: str) -> Iterator[TableFunction]:
        section = self.elf.get_section_by_name(name)
        if section is None or section["sh_type"] == "SHT_NOBITS":
            return
        strings = self._content(self.elf.get_section(section["sh_link"]))
        data = self._content(section)
        usable = len(data) // _SYMBOL.size * _SYMBOL.size
        for offset, info, other, index, address, size in _SYMBOL.iter_unpack(data[:usable]):
            if info & 15 != _STT_FUNC or index == _SHN_UNDEF or index >= _SHN_RESERVED or not self.is_code(address):
                continue
            raw = strings[offset : strings.find(b"\0", offset)].decode("utf-8", "replace")
            is_global = info >> 4 in (_STB_GLOBAL, _STB_WEAK, _STB_UNIQUE)
            is_visible = other & 3 not in (_STV_HIDDEN, _STV_INTERNAL)
            yield TableFunction(raw, address, size, is_global, name == ".dynsym" and is_global and is_visible)

    def _plain_size(self, section: Any) -> int:
        """Once decompressed; GNU's .zdebug sections say it themselves."""
        if not section.name.startswith(".zdebug_"):
            return int(section.data_size)
        self._stream.seek(section["sh_offset"])
        magic, size = _ZDEBUG.unpack(self._stream.read(_ZDEBUG.size).ljust(_ZDEBUG.size, b"\0"))
        return int(size) if magic == b"ZLIB" else int(section["sh_size"])

    def _content(self, section: Any) -> bytes:
        """Of a section that is never compressed. A damaged size must not ask for more memory than the file has."""
        self._stream.seek(0, os.SEEK_END)
        if section["sh_offset"] + section["sh_size"] > self._stream.tell() or section.compressed:
            raise ValueError(f"{section.name} is cut short")
        content: bytes = section.data()
        return content

    def _check_machine(self, *, is_program: bool) -> None:
        if self.elf.elfclass != 64 or not self.elf.little_endian or self.elf["e_machine"] != "EM_X86_64":
            machine = f"{self.elf.get_machine_arch()} ({self.elf.elfclass} bits)"
            raise failure("wrong_architecture", path=self.path, machine=machine, host="x64 (64 bits)")
        if is_program and self.elf["e_type"] == "ET_REL":
            raise failure("not_linked", path=self.path)

    def _read_build_id(self) -> str | None:
        section = self.elf.get_section_by_name(".note.gnu.build-id")
        if not isinstance(section, NoteSection):
            return None
        return next((str(note["n_desc"]) for note in section.iter_notes() if note["n_type"] == "NT_GNU_BUILD_ID"), None)

    def _lowest_load(self) -> int:
        loads = [segment["p_vaddr"] for segment in self.elf.iter_segments("PT_LOAD")]
        return int(min(loads, default=0)) // _PAGE * _PAGE


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
