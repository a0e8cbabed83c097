"""Rows of the native index by name: types and variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from strobe._core import DwarfIndex

_NO_FILE = 2**32 - 1
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


class Names:
    """A column of names, each ended by a zero byte."""

    def __init__(self, column: bytes) -> None:
        self._column = column
        self._ends: list[int] | None = None

    def find(self, name: str) -> list[int]:
        """Numbers of the rows with that qualified name, or of which it is the last part or parts."""
        wanted = name.encode()
        found: list[int] = []
        position = self._column.find(wanted + b"\0")
        number = counted = 0
        while position >= 0:
            number += self._column.count(b"\0", counted, position)
            counted = position
            before = self._column[max(0, position - 2) : position]
            if before in (b"", b"::") or before.endswith(b"\0"):
                found.append(number)
            position = self._column.find(wanted + b"\0", position + 1)
        return found

    def text(self, number: int) -> str:
        if self._ends is None:
            self._ends = [-1, *_positions(self._column)]
        return self._column[self._ends[number] + 1 : self._ends[number + 1]].decode("utf-8", "replace")


class TypeRows:
    """Defined types of a module."""

    def __init__(self, index: DwarfIndex) -> None:
        columns = index.types()
        self._names = Names(columns["name"])
        self._dies = memoryview(columns["die"]).cast("Q")
        self._tags = memoryview(columns["tag"]).cast("H")
        self._flags = columns["flags"]

    def find(self, name: str) -> list[TypeRow]:
        return [self._row(number) for number in self._names.find(name)]

    def _row(self, number: int) -> TypeRow:
        in_types = bool(self._flags[number] & _IN_TYPES)
        return TypeRow(self._dies[number], self._names.text(number), self._tags[number], in_types)


class VariableRows:
    """Variables of a module."""

    def __init__(self, index: DwarfIndex) -> None:
        self._columns = index.variables()
        self._files = index.files()
        self._names, self._linkage_names = Names(self._columns["name"]), Names(self._columns["linkage_name"])

    def find(self, name: str) -> list[VariableRow]:
        return [self._row(number) for number in self._names.find(name)]

    def _row(self, number: int) -> VariableRow:
        die, address = (memoryview(self._columns[name]).cast("Q")[number] for name in ("die", "address"))
        file, line = (memoryview(self._columns[name]).cast("I")[number] for name in ("file", "line"))
        flags = self._columns["flags"][number]
        return VariableRow(
            die,
            self._names.text(number),
            self._linkage_names.text(number) or None,
            address,
            bool(flags & _EXTERNAL),
            bool(flags & _THREAD_LOCAL),
            None if file == _NO_FILE else self._files[file],
            line or None,
        )


def _positions(column: bytes) -> Iterator[int]:
    position = column.find(b"\0")
    while position >= 0:
        yield position
        position = column.find(b"\0", position + 1)
