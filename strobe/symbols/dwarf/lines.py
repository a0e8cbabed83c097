"""Lines of source both ways: where the code of a line is, and which line an address belongs to.

The native core decodes the line programs that are needed, when somebody asks. Of one unit the rows are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from strobe._core import Dwarf
from strobe.dataclass import dataclass

_IS_STATEMENT, _ENDS_SEQUENCE = 1, 2
_MAX_AT_ADDRESS = 256  # rows; only damaged tables have more


@dataclass(frozen=True, slots=True)
class SourceLocation:
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
    """What is known of a line. `locations` has each piece of code it begins, in every copy (inlined, template, unit).

    `before` and `after` are the nearest lines with code where this one has none. `files` are the full paths that were
    meant: none, where no unit names such a file.
    """

    locations: list[SourceLocation]
    files: list[str]
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True, slots=True)
class LineCode:
    """Code of a line, as a row of a line table has it. `address` is link-time, with an instruction of the row's
    sequence there. `before`, `behind`: (file, line) of the other rows at the same address. `gap`: bytes since the
    address of the row before; 0 where it is the first of its sequence. `unit`, `row`: which one it is.
    """

    address: int
    file: str
    line: int
    column: int
    is_statement: bool
    before: tuple[tuple[str, int], ...]
    behind: tuple[tuple[str, int], ...]
    gap: int
    unit: int
    row: int


@dataclass(frozen=True, slots=True)
class LinesCode:
    """All code of some lines. `files`: as in LineMatch. `before`, `after`: the nearest other lines with code."""

    rows: list[LineCode]
    files: list[str]
    before: int | None = None
    after: int | None = None


class SourceLines:
    """Line tables of one module."""

    def __init__(self, core: Callable[[], Dwarf]) -> None:
        self._core = core
        self._last: tuple[int, LineTable, dict[int, list[int]]] | None = None

    def at(self, address: int) -> SourceLocation | None:
        """The row that a link-time address belongs to; None where no unit has it. ValueError for a damaged table."""
        found = self._core().line_at(address)
        if found is None:
            return None
        path, line, column, flags, start = found
        return SourceLocation(start, path, line, column, bool(flags & _IS_STATEMENT))

    def of(self, file: str, line: int) -> LineMatch:
        """`file`: a full path, or its end from a slash on (`src/a.c`, `a.c`)."""
        columns, paths = self._core().lines_of_file(file)
        addresses = memoryview(columns["address"]).cast("Q")
        numbers, files, positions = (memoryview(columns[name]).cast("I") for name in ("line", "file", "column"))
        locations: dict[tuple[int, int], SourceLocation] = {}
        for i, number in enumerate(numbers):
            is_statement = bool(columns["flags"][i] & _IS_STATEMENT)
            key = (addresses[i], files[i])
            # of several rows at one address, one that begins a statement says most
            if number == line and (is_statement or key not in locations):
                locations[key] = SourceLocation(addresses[i], paths[files[i]], line, positions[i], is_statement)
        if locations:
            return LineMatch(sorted(locations.values(), key=lambda location: location.address), paths)
        with_code = set(numbers) - {0}
        before = max((number for number in with_code if number < line), default=None)
        after = min((number for number in with_code if number > line), default=None)
        return LineMatch([], paths, before, after)

    def code_of(self, file: str, first: int, last: int) -> LinesCode:
        """All rows of the lines `first` to `last`, those that go on with the line of the row before, too: another
        inlined call may begin there. `file`: as `of` takes it."""
        columns, paths = self._core().lines_of_file(file)
        numbers, units = (memoryview(columns[name]).cast("I") for name in ("line", "unit"))
        wanted = {unit for unit, number in zip(units, numbers, strict=True) if first <= number <= last}
        rows = [row for unit in sorted(wanted) for row in self._code_in(unit, set(paths), first, last)]
        with_code = set(numbers) - {0}
        before = max((number for number in with_code if number < first), default=None)
        after = min((number for number in with_code if number > last), default=None)
        return LinesCode(rows, paths, before, after)

    def table(self, unit: int) -> LineTable:
        """All rows of one unit."""
        return LineTable(self._core(), unit)

    def _code_in(self, unit: int, paths: set[str], first: int, last: int) -> Iterator[LineCode]:
        table, rows_of = self._by_line(unit)
        own = {number for number, path in enumerate(table.names) if path in paths}
        lines = range(first, last + 1) if last - first < len(rows_of) else rows_of
        for row in sorted(row for line in lines if first <= line <= last for row in rows_of.get(line, ())):
            if table.files[row] in own:
                found = table.code(row)
                if found is not None:
                    yield found

    def _by_line(self, unit: int) -> tuple[LineTable, dict[int, list[int]]]:
        """The unit's rows, and by line their numbers. Of the unit asked for last they are kept: line after line of one
        function is asked for."""
        if self._last is None or self._last[0] != unit:
            table, rows_of = self.table(unit), dict[int, list[int]]()
            for row, line in enumerate(table.lines):
                rows_of.setdefault(line, []).append(row)
            self._last = (unit, table, rows_of)
        return self._last[1:]


class LineTable:
    """The rows of one unit."""

    def __init__(self, core: Dwarf, unit: int) -> None:
        columns = core.unit_lines(unit)
        self._unit = unit
        self.names = core.unit_files(unit)
        self.flags = columns["flags"]
        self._addresses = memoryview(columns["address"]).cast("Q")
        self.lines, self.files, self._columns = (
            memoryview(columns[name]).cast("I") for name in ("line", "file", "column")
        )

    def code(self, row: int) -> LineCode | None:
        """None for a row without code: the end of a sequence, or one where it ends."""
        if self.flags[row] & _ENDS_SEQUENCE or self.files[row] >= len(self.names):
            return None
        there = _at_address(self._addresses, self.flags, row)
        if there is None:
            return None
        address, start = self._addresses[row], there.start
        is_first = start == 0 or self.flags[start - 1] & _ENDS_SEQUENCE
        return LineCode(
            address,
            self.names[self.files[row]],
            self.lines[row],
            self._columns[row],
            bool(self.flags[row] & _IS_STATEMENT),
            self._reported(range(start, row)),
            self._reported(range(row + 1, there.stop)),
            0 if is_first else address - self._addresses[start - 1],
            self._unit,
            row,
        )

    def statements_between(self, first: LineCode, last: LineCode) -> list[LineCode]:
        """Rows of other lines that begin statements, between two of this unit."""
        rows = range(first.row + 1, last.row)
        found = (self.code(row) for row in rows if self.flags[row] & _IS_STATEMENT)
        return [one for one in found if one is not None and (one.file, one.line) != (first.file, first.line)]

    def _reported(self, rows: range) -> tuple[tuple[str, int], ...]:
        return tuple((self.names[self.files[at]], self.lines[at]) for at in rows if self.files[at] < len(self.names))


def _at_address(addresses: memoryview[int], flags: bytes, row: int) -> range | None:
    """The rows of a sequence at the address of one of them; None where the sequence ends there: it has no code."""
    start = end = row
    while row - start < _MAX_AT_ADDRESS and start > 0:
        if addresses[start - 1] != addresses[row] or flags[start - 1] & _ENDS_SEQUENCE:
            break
        start -= 1
    while end < len(addresses) and addresses[end] == addresses[row]:
        if flags[end] & _ENDS_SEQUENCE or end - row > _MAX_AT_ADDRESS:
            return None
        end += 1
    return range(start, end)
