"""Rows of the native index by name: types and variables, as the scan or the cache gives their columns."""

from __future__ import annotations

from strobe._core import DwarfIndex
from strobe.dataclass import dataclass
from strobe.symbols.dwarf import columns
from strobe.symbols.dwarf.columns import NO_FILE, Columns, Names, prefixed, unprefixed

_EXTERNAL, _THREAD_LOCAL, _IN_TYPES = 1, 2, 4


@dataclass(frozen=True, slots=True)
class TypeRow:
    """A defined type. `in_types`: `die_offset` is one of .debug_types, not of .debug_info."""

    die_offset: int
    name: str
    tag: int
    in_types: bool


@dataclass(frozen=True, slots=True)
class VariableRow:
    """A variable with a place of its own. `address` is link-time, or the offset in the module's thread-local block."""

    die_offset: int
    name: str
    linkage_name: str | None
    address: int
    is_external: bool
    is_thread_local: bool
    source_file: str | None
    line: int | None


class TypeRows:
    """Defined types of a module."""

    def __init__(self, content: Columns) -> None:
        self._names = Names(content["name"])
        self._dies = columns.words(content["die"])
        self._tags = memoryview(content["tag"]).cast("H")
        self._flags = content["flags"]

    def find(self, name: str) -> list[TypeRow]:
        """Types with exactly this qualified name."""
        return [self.row(number) for number in self._names.find(name)]

    def names(self) -> list[str]:
        """Of all rows, by number."""
        return self._names.all()

    def row(self, number: int) -> TypeRow:
        """One row; its DIE's offset with it."""
        in_types = bool(self._flags[number] & _IN_TYPES)
        return TypeRow(self._dies[number], self._names.text(number), self._tags[number], in_types)


class VariableRows:
    """Variables of a module."""

    def __init__(self, content: Columns, files: list[str]) -> None:
        self._columns, self._files = content, files
        self._names, self._linkage_names = Names(content["name"]), Names(content["linkage_name"])

    def find(self, name: str) -> list[VariableRow]:
        """Variables with exactly this qualified name."""
        return [self.row(number) for number in self._names.find(name)]

    def names(self) -> list[str]:
        """Of all rows, by number."""
        return self._names.all()

    def row(self, number: int) -> VariableRow:
        """One row; its address is link-time."""
        die, address = (columns.words(self._columns[name])[number] for name in ("die", "address"))
        file, line = (columns.halves(self._columns[name])[number] for name in ("file", "line"))
        flags = self._columns["flags"][number]
        return VariableRow(
            die,
            self._names.text(number),
            self._linkage_names.text(number) or None,
            address,
            bool(flags & _EXTERNAL),
            bool(flags & _THREAD_LOCAL),
            None if file == NO_FILE else self._files[file],
            line or None,
        )


class NamedRows:
    """Types and variables of a module. `columns` are what the cache keeps of them."""

    def __init__(self, content: Columns) -> None:
        self.columns = content
        self.types = TypeRows(unprefixed("type", content))
        self.variables = VariableRows(unprefixed("variable", content), columns.strings(content["path"]))

    @staticmethod
    def of_index(index: DwarfIndex) -> NamedRows:
        """The columns that the native scan has made."""
        files = {"path": columns.of_strings(index.files())}
        return NamedRows({**prefixed("type", index.types()), **prefixed("variable", index.variables()), **files})
