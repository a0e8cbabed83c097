"""What one pass over all debug information of a module found: functions, their ranges, types, variables."""

from __future__ import annotations

from functools import partial

from strobe._core import DwarfIndex, code_parts
from strobe.symbols import names
from strobe.symbols.dwarf import columns
from strobe.symbols.dwarf.code_parts import CodeParts
from strobe.symbols.dwarf.columns import NO_FILE, Columns
from strobe.symbols.dwarf.rows import NamedRows


class Scan:
    """Takes the memory of all rows: to be let go when what is needed of it is taken over."""

    def __init__(self, index: DwarfIndex) -> None:
        self.index = index

    @property
    def damaged(self) -> list[tuple[int, str]]:
        """(offset of the unit, reason) of what could not be read."""
        return self.index.damage()

    @property
    def has_rows(self) -> bool:
        """Whether debug information describes any function."""
        return self.index.function_count > 0

    def parts(self) -> CodeParts:
        """Each part of each function."""
        return CodeParts(partial(code_parts, self.index))

    def inlined(self) -> Columns:
        """Functions that were inlined somewhere: columns name, sites (u64), file (u32, a number in path), path; unseen:
        names of those that were inlined where nothing is left of them, and have no site.

        Names are those that a copy of the function's own would have.
        """
        found = self.index.inlined()
        files = self.index.files()
        merged: dict[str, tuple[int, int]] = {}
        spelled = names.spelled_by_symbols(columns.strings(found["name"]), columns.strings(found["linkage_name"]))
        numbers = columns.words(found["sites"]), columns.halves(found["file"])
        for name, sites, file in zip(spelled, *numbers, strict=True):
            merged[name] = (sites + merged.get(name, (0, 0))[0], file)
        unseen = [name for name, (sites, _) in merged.items() if not sites]
        for name in unseen:
            del merged[name]
        used = dict.fromkeys(file for _, file in merged.values() if file != NO_FILE)
        positions = {number: position for position, number in enumerate(used)}
        return {
            "name": columns.of_strings(merged),
            "sites": columns.of_words(sites for sites, _ in merged.values()),
            "file": columns.of_halves(positions.get(file, NO_FILE) for _, file in merged.values()),
            "path": columns.of_strings(files[number] for number in positions),
            "unseen": columns.of_strings(unseen),
        }

    def named(self) -> NamedRows:
        """Types and variables by name."""
        return NamedRows.of_index(self.index)
