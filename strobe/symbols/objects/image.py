"""What all file formats have in common: sections, a symbol table, a load address. One file knows one format."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from strobe._core import SymbolTable
from strobe.dataclass import dataclass


class TableFunction(NamedTuple):
    """A function of a symbol table; `is_exported`: other modules can bind to it."""

    name: str
    address: int
    size: int
    is_global: bool
    is_exported: bool


@dataclass(frozen=True, slots=True)
class StoredSection:
    """A section with content. `offset` and `size` in bytes, of what the file has; `plain_size` once decompressed.

    `name` is the one of ELF, whatever the format: `.debug_info` is `__debug_info` of Mach-O.
    `is_compressed`: begins with an Elf64_Chdr. `address`: link-time, 0 where it is not loaded.
    """

    name: str
    offset: int
    size: int
    plain_size: int
    is_compressed: bool = False
    address: int = 0


class Image(Protocol):
    """One file, opened for reading. Addresses are link-time; `link_base` is the lowest that is loaded.

    `executable`: (start, end) of what can be code. `machine`: "x86-64", or one whose registers are not known here.
    """

    path: str
    machine: str
    build_id: str | None
    link_base: int
    executable: list[tuple[int, int]]
    has_symtab: bool

    def add_functions(self, table: SymbolTable) -> None:
        """Those of all symbol tables. Raises one of UNREADABLE where one is damaged; what was read before stays."""
        ...

    def sections(self) -> list[StoredSection]:
        """The debug sections, where they are in the file."""

    def section_size(self, name: str) -> int:
        """In bytes as they lie in memory (uncompressed); 0 where there is no such section."""
        ...

    def close(self) -> None:
        """Closes the file; what was read of it stays."""


def table_functions(image: Image) -> list[TableFunction]:
    """Of all symbol tables, in their order. Raises one of UNREADABLE where one is damaged."""
    table = SymbolTable()
    image.add_functions(table)
    return [TableFunction(*row) for row in table.rows()]
