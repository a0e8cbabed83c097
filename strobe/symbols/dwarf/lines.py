"""Lines of source both ways: where the code of a line is, and which line an address belongs to.

Nothing is kept: the native core decodes the line programs that are needed, when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable

from strobe._core import Dwarf
from strobe.dataclass import dataclass

_IS_STATEMENT = 1


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """Where code begins that belongs to a line.

    `address` is link-time; `line` 0: the compiler's own code; `column` 0: not known; `is_statement`: a good place to
    stop at, as the compiler says.
    """

    address: int
    file: str
    line: int
    column: int
    is_statement: bool


@dataclass(frozen=True, slots=True)
class LineMatch:
    """What is known of a line. `places` has each piece of code it begins, in every copy (inlined, template, unit).

    `before` and `after` are the nearest lines with code where this one has none. `files` are the full paths that were
    meant: none, where no unit names such a file.
    """

    places: list[SourcePlace]
    files: list[str]
    before: int | None = None
    after: int | None = None


class SourceLines:
    """Line tables of one module."""

    def __init__(self, core: Callable[[], Dwarf]) -> None:
        self._core = core

    def at(self, address: int) -> SourcePlace | None:
        """The row that a link-time address belongs to; None where no unit has it. ValueError for a damaged table."""
        found = self._core().line_at(address)
        if found is None:
            return None
        path, line, column, flags, start = found
        return SourcePlace(start, path, line, column, bool(flags & _IS_STATEMENT))

    def of(self, file: str, line: int) -> LineMatch:
        """`file`: a full path, or its end from a slash on (`src/a.c`, `a.c`)."""
        columns, paths = self._core().lines_of_file(file)
        addresses = memoryview(columns["address"]).cast("Q")
        numbers, files, positions = (memoryview(columns[name]).cast("I") for name in ("line", "file", "column"))
        places: dict[tuple[int, int], SourcePlace] = {}
        for i, number in enumerate(numbers):
            is_statement = bool(columns["flags"][i] & _IS_STATEMENT)
            place = (addresses[i], files[i])
            # of several rows at one address, one that begins a statement says most
            if number == line and (is_statement or place not in places):
                places[place] = SourcePlace(addresses[i], paths[files[i]], line, positions[i], is_statement)
        if places:
            return LineMatch(sorted(places.values(), key=lambda place: place.address), paths)
        with_code = set(numbers) - {0}
        before = max((number for number in with_code if number < line), default=None)
        after = min((number for number in with_code if number > line), default=None)
        return LineMatch([], paths, before, after)
