"""Go in a program: where its code lies, and its functions where nothing but Go's own table names them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from strobe.symbols.function_table import SourceRow
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.go_pclntab import MAGICS, PclnTable
from strobe.symbols.objects.image import Image, StoredSection

_TABLE_SECTIONS = (".gopclntab", ".data.rel.ro.gopclntab")
_READ_ONLY = (".data.rel.ro", ".rodata")  # where the table is when its section's name was lost
_MARKS = (".go.", ".note.go", ".gosymtab", ".typelink", ".itablink", ".data.rel.ro.typelink")
_RELOCATIONS = (".rela.dyn", ".rela")
_RELATIVE = (8).to_bytes(8, "little")  # R_X86_64_RELATIVE, for no symbol
_HEADER_TEXT_START = 24  # in the table, from Go 1.18 to 1.25
_MODULE_TEXT_START = 176  # in runtime.moduledata, of which Go 1.26 makes a section


class GoCode:
    """The code that Go's compiler made. `start`, `end`: addresses around all of it; C functions of cgo lie outside."""

    def __init__(self, table: PclnTable) -> None:
        self._table = table
        self.start, self.end = table.span()

    def rows(self) -> Iterator[SourceRow]:
        """Functions. Raises one of UNREADABLE where the table is damaged."""
        for function in self._table.functions():
            yield SourceRow(function.name, function.address, function.size, function.file, function.line)


def go_rows(image: Image, warnings: list[str], wanted: bool) -> tuple[list[SourceRow], tuple[int, int]]:
    """Functions of Go's table where they are wanted, and the addresses [start, end) of its code.

    A damaged table is a warning; what was read before the damage stays.
    """
    code = None
    rows: list[SourceRow] = []
    try:
        code = find_go_code(image)
        for row in code.rows() if code is not None and wanted else ():
            rows.append(row)
    except UNREADABLE as error:
        name, reason = Path(image.path).name, str(error) or type(error).__name__
        warnings.append(f"The table of Go's functions in {name} cannot be read ({reason}).")
    return rows, (0, 0) if code is None else (code.start, code.end)


def find_go_code(image: Image) -> GoCode | None:
    """None where a file has no Go in it. Raises one of UNREADABLE where its table is damaged."""
    sections = image.sections()
    if not any(section.name in _TABLE_SECTIONS or section.name.startswith(_MARKS) for section in sections):
        return None
    with Path(image.path).open("rb") as file:
        contents = _Contents(file.fileno(), sections)
        found = _table(contents, sections)
        if found is None:
            return None
        address, table = found
        if table.is_relative and table.text_start == 0:
            table.text_start = _text_start(contents, address, sections)
    code = GoCode(table)
    if not any(start <= code.start and code.end <= end for start, end in image.executable):
        raise ValueError("its code is outside the program's code")
    return code


class _Contents:
    """Bytes of sections, read when asked for."""

    def __init__(self, descriptor: int, sections: list[StoredSection]) -> None:
        self._descriptor = descriptor
        self._sections = sections

    def of(self, section: StoredSection) -> bytes:
        content = os.pread(self._descriptor, section.size, section.offset)
        if len(content) != section.size or section.is_compressed:
            raise ValueError(f"{section.name} is truncated")
        return content

    def word(self, address: int) -> int:
        """8 bytes as they are when the program is loaded where it was linked to; 0 where there are none."""
        wanted = address.to_bytes(8, "little") + _RELATIVE
        for section in self._sections:
            if section.name in _RELOCATIONS:
                content = self.of(section)
                position = content.find(wanted)
                if position >= 0 and position % 24 == 0:
                    return int.from_bytes(content[position + 16 : position + 24], "little")
        for section in self._sections:
            if section.address and section.address <= address <= section.address + section.size - 8:
                offset = section.offset + address - section.address
                return int.from_bytes(os.pread(self._descriptor, 8, offset), "little")
        return 0


def _table(contents: _Contents, sections: list[StoredSection]) -> tuple[int, PclnTable] | None:
    for section in sections:
        if section.name in _TABLE_SECTIONS:
            return section.address, PclnTable(contents.of(section))
    for section in sections:
        if section.name in _READ_ONLY:
            content = contents.of(section)
            for position in _candidates(content):
                try:
                    return section.address + position, PclnTable(content[position:])
                except ValueError:
                    continue
    return None


def _candidates(content: bytes) -> Iterator[int]:
    """Where a table may begin: its number, two zero bytes, the pointer's size."""
    for magic in MAGICS:
        wanted = magic.to_bytes(4, "little") + b"\0\0"
        position = content.find(wanted)
        while position >= 0:
            if content[position + 7 : position + 8] == b"\x08":
                yield position
            position = content.find(wanted, position + 1)


def _text_start(contents: _Contents, table: int, sections: list[StoredSection]) -> int:
    """Where the offsets of the table begin to count, when it does not say so itself."""
    start = contents.word(table + _HEADER_TEXT_START)
    module = next((section.address for section in sections if section.name in (".go.module", ".go_module")), None)
    if start == 0 and module is not None and contents.word(module) == table:
        start = contents.word(module + _MODULE_TEXT_START)
    # a program that Go's own linker made has nothing before it
    return start or next((section.address for section in sections if section.name == ".text"), 0)
