"""What one pass over all debug information of a module found: functions, their ranges, types, variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from strobe._core import DwarfIndex
from strobe.symbols import columns, names
from strobe.symbols.columns import NO_FILE, Columns
from strobe.symbols.rows import NamedRows


class CodeRow(NamedTuple):
    """A concrete function as debug information has it. `linkage_name` None: not mangled.

    `die_offset` None: it is known from another table.
    """

    die_offset: int | None
    address: int
    size: int
    name: str
    linkage_name: str | None
    source_file: str | None
    line: int | None


class Scan:
    """Takes the memory of all rows: to be let go when what is needed of it is taken over."""

    def __init__(self, index: DwarfIndex) -> None:
        self._index = index
        self._functions = index.functions()

    @property
    def damaged(self) -> list[tuple[int, str]]:
        """(offset of the unit, reason) of what could not be read."""
        return self._index.damage()

    @property
    def has_rows(self) -> bool:
        return len(self._functions["flags"]) > 0

    def rows(self) -> Iterator[CodeRow]:
        """Functions with code, in the order of the units."""
        files = self._index.files()
        numbers = (columns.words(self._functions[name]) for name in ("die", "address", "size"))
        places = (columns.halves(self._functions[name]) for name in ("file", "line"))
        texts = (columns.strings(self._functions[name]) for name in ("name", "linkage_name"))
        for die, address, size, file, line, name, linkage in zip(*numbers, *places, *texts, strict=True):
            source = None if file == NO_FILE else files[file]
            yield CodeRow(die, address, size, name, linkage or None, source, line or None)

    def ranges(self) -> Iterator[tuple[int, int, int]]:
        """(start, end, address of the called part) of each part of each function."""
        entries = columns.words(self._functions["address"])
        firsts, counts = (columns.halves(self._functions[name]) for name in ("first_range", "range_count"))
        bounds = columns.words(self._index.ranges())
        for entry, first, count in zip(entries, firsts, counts, strict=True):
            for position in range(2 * first, 2 * (first + count), 2):
                yield bounds[position], bounds[position + 1], entry

    def inlined(self) -> Columns:
        """Functions that were inlined somewhere: columns name, sites (u64), file (u32, a number in path), path.

        Names are those that a copy of the function's own would have.
        """
        found = self._index.inlined()
        files = self._index.files()
        merged: dict[str, tuple[int, int]] = {}
        spelled = names.spelled_by_symbols(columns.strings(found["name"]), columns.strings(found["linkage_name"]))
        numbers = columns.words(found["sites"]), columns.halves(found["file"])
        for name, sites, file in zip(spelled, *numbers, strict=True):
            merged[name] = (sites + merged.get(name, (0, 0))[0], file)
        used = dict.fromkeys(file for _, file in merged.values() if file != NO_FILE)
        places = {number: place for place, number in enumerate(used)}
        return {
            "name": columns.of_strings(merged),
            "sites": columns.of_words(sites for sites, _ in merged.values()),
            "file": columns.of_halves(places.get(file, NO_FILE) for _, file in merged.values()),
            "path": columns.of_strings(files[number] for number in places),
        }

    def named(self) -> NamedRows:
        return NamedRows.of_index(self._index)
