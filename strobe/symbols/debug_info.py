"""Debug information of one module: the rows that the native scanner finds, and single DIEs in depth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from strobe._core import Dwarf, DwarfIndex
from strobe.symbols.deep import open_dwarf
from strobe.symbols.image import Image
from strobe.symbols.lines import SourceLines
from strobe.symbols.rows import TypeRow, TypeRows, VariableRow, VariableRows
from strobe.symbols.sections import SCANNED, DebugSections

UNNAMED = "{unnamed}"  # a type without name, such as clang's lambdas: the linkage name then says more
TAG_FORMAL_PARAMETER = 0x05
_NO_FILE = 2**32 - 1


@dataclass(frozen=True, slots=True)
class CodeRow:
    """A concrete function as debug information has it. `linkage_name` None: not mangled."""

    die_offset: int
    address: int
    size: int
    name: str
    linkage_name: str | None
    source_file: str | None
    line: int | None


class DebugInfo:
    """`.debug_info` of one ELF file, read when first asked for. Raises one of UNREADABLE where nothing can be read."""

    def __init__(self, image: Image, kept: Path | None = None) -> None:
        """`kept`: as DebugSections has it."""
        self._sections = DebugSections(image, kept)
        self._executable = image.executable
        self._names: dict[int, str] = {}

    @cached_property
    def _core(self) -> Dwarf:
        return Dwarf(self._sections.several(SCANNED))

    @cached_property
    def _index(self) -> DwarfIndex:
        return self._core.scan(self._executable)

    def scan(self) -> None:
        """Reads all units now: what fails, fails here."""
        _ = self._index

    @cached_property
    def dwarf(self) -> Any:
        """A DWARFInfo of elftools. Made when first asked for: it costs more than the scan."""
        return open_dwarf(self._sections)

    @cached_property
    def lines(self) -> SourceLines:
        return SourceLines(lambda: self._core)

    @property
    def damaged(self) -> list[tuple[int, str]]:
        """(offset of the unit, reason) of what could not be read."""
        return self._index.damage()

    def split_units(self) -> int:
        """How many units keep their content in .dwo files, where it is not read."""
        return sum(is_split for *_, is_split in self._core.units())

    def lists_parameters(self, offset: int) -> bool:
        """Whether the unit describes parameters at all: with -g1, or as Rust's own library is built, it does not."""
        return self._core.unit_has_tag(offset, TAG_FORMAL_PARAMETER)

    def parameters(self, offset: int) -> list[int]:
        """Offsets of a function's parameters."""
        return self._core.children(offset, TAG_FORMAL_PARAMETER)

    def rows(self) -> Iterator[CodeRow]:
        columns = self._index.functions()
        files = self._index.files()
        numbers = (memoryview(columns[name]).cast("Q") for name in ("die", "address", "size"))
        places = (memoryview(columns[name]).cast("I") for name in ("file", "line"))
        texts = (_texts(columns[name]) for name in ("name", "linkage_name"))
        for die, address, size, file, line, name, linkage in zip(*numbers, *places, *texts, strict=True):
            source = None if file == _NO_FILE else files[file]
            yield CodeRow(die, address, size, name, linkage or None, source, line or None)

    def find_types(self, name: str) -> list[TypeRow]:
        """Defined types of that qualified name, or of which it is the last part."""
        return self._type_rows.find(name)

    def find_variables(self, name: str) -> list[VariableRow]:
        """The same of variables with a place of their own: globals, statics, thread-local ones."""
        return self._variable_rows.find(name)

    @cached_property
    def _type_rows(self) -> TypeRows:
        return TypeRows(self._index)

    @cached_property
    def _variable_rows(self) -> VariableRows:
        return VariableRows(self._index)

    def inlined_sites(self) -> dict[str, int]:
        """Qualified name of each function that was inlined somewhere -> number of sites."""
        columns = self._index.inlined()
        return dict(zip(_texts(columns["name"]), memoryview(columns["sites"]).cast("Q"), strict=True))

    def qualified_name(self, offset: int) -> str:
        """Name of a function, namespace or type with the names of all that encloses it."""
        if offset not in self._names:
            self._names[offset] = self._core.qualified_name(offset)
        return self._names[offset]


def _texts(column: bytes) -> list[str]:
    """Strings of a column, each ended by a zero byte."""
    return column.decode("utf-8", "replace").split("\0")[:-1]
