"""What the dynamic linker runs of a file before the program's first instruction: constructors, and what chooses among
implementations of a function (IFUNC). System V gABI, chapter 5; psABI for x86-64 and AArch64."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from strobe.dataclass import dataclass
from strobe.symbols.objects.elf_headers import PT_DYNAMIC, PT_LOAD, ElfHeaders, dynamic_entries, reader_of

_PLTRELSZ, _RELA, _RELASZ, _INIT, _JMPREL, _INIT_ARRAYSZ, _PREINIT_ARRAYSZ = 2, 7, 8, 12, 23, 27, 33  # DT_*
_IRELATIVE = {37, 1032}  # R_X86_64_IRELATIVE, R_AARCH64_IRELATIVE
_ENTRY, _SYMBOL = 24, 24  # bytes of Elf64_Rela and Elf64_Sym
_IFUNC = 10  # STT_GNU_IFUNC
_POINTER = 8


@dataclass(frozen=True, slots=True)
class EarlyCode:
    """`runs`: whether there is any. `imports`: names of symbols that it has from other files."""

    runs: bool
    imports: frozenset[str]


def early_code(path: str, *, is_program: bool) -> EarlyCode:
    """`is_program`: a program runs its own constructors later. Raises OSError, or ValueError where it is no ELF file
    that can be read."""
    with Path(path).open("rb") as stream:
        return _Reader(ElfHeaders(reader_of(stream))).read(is_program)


class _Reader:
    def __init__(self, headers: ElfHeaders) -> None:
        self._headers = headers
        dynamic = next((part for part in headers.segments if part.kind == PT_DYNAMIC), None)
        content = b"" if dynamic is None else headers.read(dynamic.offset, dynamic.size, "the dynamic section")
        self._tags = dict(dynamic_entries(content))

    def read(self, is_program: bool) -> EarlyCode:
        symbols = self._table(".dynsym")
        chooses = _IFUNC in {kind & 0xF for kind in symbols[4::_SYMBOL]} or self._has_irelative()
        if is_program:
            runs = chooses or self._tags.get(_PREINIT_ARRAYSZ, 0) > 0
        else:  # one entry is the compiler's own: frame_dummy
            runs = chooses or self._tags.get(_INIT_ARRAYSZ, 0) > _POINTER or self._has_own_init()
        return EarlyCode(runs, frozenset(self._undefined(symbols)) if runs else frozenset())

    def _undefined(self, symbols: bytes) -> Iterator[str]:
        names = self._table(".dynstr")
        for at in range(0, len(symbols), _SYMBOL):
            if symbols[at + 6 : at + 8] == b"\0\0":
                name = int.from_bytes(symbols[at : at + 4], "little")
                yield names[name : names.find(b"\0", name)].decode("utf-8", "replace")

    def _table(self, name: str) -> bytes:
        for section in self._headers.sections:
            if section.name == name:
                return self._headers.read(section.offset, section.size, name)
        return b""

    def _has_own_init(self) -> bool:
        """Whether DT_INIT is not that of the C library's start code, which does nothing."""
        return _INIT in self._tags and not any(
            section.name == ".init" and section.address == self._tags[_INIT] for section in self._headers.sections
        )

    def _has_irelative(self) -> bool:
        for start, size in ((_RELA, _RELASZ), (_JMPREL, _PLTRELSZ)):
            table = self._at(self._tags.get(start, 0), self._tags.get(size, 0) // _ENTRY * _ENTRY)
            if _IRELATIVE & set(memoryview(table).cast("I")[2::6].tolist()):
                return True
        return False

    def _at(self, address: int, size: int) -> bytes:
        for part in self._headers.segments:
            if part.kind == PT_LOAD and part.address <= address and address + size <= part.address + part.size:
                return self._headers.read(part.offset + address - part.address, size, "a dynamic table")
        return b""
