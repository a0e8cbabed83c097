"""From a line of source to the instructions where a probe on it goes: one in each copy of the line.

As gdb has it: in each function, and each inlined call, the lowest address of the line's code, so that it is reached
once each time the line is executed from its start. Where the compiler tells copies of the line within a function, in
each of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from strobe.dataclass import dataclass, replace
from strobe.errors import failure
from strobe.model import FunctionSymbol
from strobe.symbols.details import ModuleDetails
from strobe.symbols.dwarf.lines import LineCode, LineTable
from strobe.symbols.frames.model import Call
from strobe.symbols.module_symbols import ModuleSymbols
from strobe.symbols.names import components
from strobe.symbols.objects.code_bytes import code_at
from strobe.symbols.select.nearest import nearest_names

_TEXT = re.compile(r"(?P<file>.*[^:\s])\s*:\s*(?P<first>\d+)(?:\s*-\s*(?P<last>\d+))?\Z", re.DOTALL)
MAX_LINES = 1000
_MARKS_STATEMENTS = re.compile(r"^GNU \S+ (?:[89]|\d\d)\..* -O(?!0)")  # gcc 8 and later, where it optimizes
_OPTIMIZES = re.compile(r" -O(?!0)")
_ASSEMBLER = (".s", ".S", ".asm")
_MOST_PREFIXES = 4
# bytes of x86-64 that are no instruction by themselves: of segments and sizes, lock, repne, rep, REX
_PREFIXES = frozenset((0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3, *range(0x40, 0x50)))


@dataclass(frozen=True, slots=True)
class SourceRange:
    """Lines `first` to `last` of a file: a full path, or its end from a slash on."""

    file: str
    first: int
    last: int

    def __str__(self) -> str:
        lines = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.file}:{lines}"


@dataclass(frozen=True, slots=True)
class LineSite:
    """Where the code of a line begins in one copy of it.

    `address` is link-time. `function`: whose code it is, with any of its parts. `is_statement`: the compiler calls it a
    good place to stop at. `inlined`: names of the inlined functions that the line lies in, the innermost first; empty
    where it is a line of the function itself. `level`: which of the calls around the address (Frames.at) the line
    belongs to, in which its names are looked up; None where the inlined call has no code of its own left there.
    `is_exact` False: it is optimized code, where the line can be executed without it, or it without the line: parts
    of it were moved, merged with others, or left out.
    """

    address: int
    function: FunctionSymbol
    file: str
    line: int
    is_statement: bool
    inlined: tuple[str, ...]
    level: int | None
    is_exact: bool = True

    @property
    def is_entry(self) -> bool:
        """Whether the function begins there: nothing of it has run, its parameters are where the caller put them."""
        return self.address == self.function.address


def parsed_lines(text: str) -> SourceRange | None:
    """`src/a.cpp:42`, `a.cpp:42-57`; None for what is no line. Raises VALIDATION_ERROR for lines that cannot be."""
    found = _TEXT.match(text.strip())
    if found is None:
        return None
    first = int(found["first"])
    last = first if found["last"] is None else int(found["last"])
    reason = _wrong(first, last)
    if reason:
        raise failure(
            "bad_value", field="at", value=f"'{text.strip()}'", reason=reason, valid="main.c:12, main.c:12-20"
        )
    return SourceRange(found["file"].removeprefix("./"), first, last)


def _wrong(first: int, last: int) -> str:
    if first == 0:
        return "lines count from 1"
    if last < first:
        return "the last line is before the first"
    return f"it has more than {MAX_LINES} lines" if last - first >= MAX_LINES else ""


def line_sites(lines: SourceRange, module: ModuleSymbols, details: ModuleDetails) -> list[LineSite]:
    """By line, then by address. Raises NO_CODE_AT_LINE, with the nearest lines that have code; one of UNREADABLE where
    debug information is damaged."""
    code = details.lines.code_of(lines.file, lines.first, lines.last)
    search = _Search(module, details)
    found = [site for line in sorted({row.line for row in code.rows}) for site in search.sites(code.rows, line)]
    if not found:
        near = [
            None if one is None else _near_line(one, lines.file, search, details) for one in (code.before, code.after)
        ]
        raise no_code(lines, module, module.path, code.files, near)
    return found


def _near_line(line: int, file: str, search: _Search, details: ModuleDetails) -> str:
    """ "1307 (in insert)"."""
    rows = details.lines.code_of(file, line, line).rows
    site = next(iter(search.sites(rows, line)), None)
    if site is None:
        return f"{line}"
    name = site.inlined[0] if site.inlined else site.function.name
    return f"{line} (in {components(name)[-1]})"


def no_code(
    lines: SourceRange, module: ModuleSymbols, named: str, files: list[str], near: Sequence[int | str | None]
) -> Exception:
    """Why lines have no code. `named`: the module. `files`: the full paths that were meant. `near`: the nearest lines
    with code, before and after, in words."""
    if not files:
        names = nearest_names(Path(lines.file).name, module.source_names)
        hint = f"Names like it: {', '.join(names)}." if names else ""
        return failure("unknown_source_file", path=named, file=lines.file, hint=hint)
    near_lines = [str(number) for number in near if number is not None]
    noun = "lines" if len(near_lines) > 1 else "line"
    hint = f"The nearest {noun} with code: {' and '.join(near_lines)}." if near_lines else ""
    line = str(lines).rpartition(":")[2]
    return failure("no_code_at_line", file=lines.file, line=line, hint=hint)


@dataclass(frozen=True, slots=True)
class _Found:
    """A row with the calls around it. `key`: of the call that has it; `is_cold`: in a part of its function that is not
    the one it begins in."""

    site: LineSite
    key: tuple[int, int | None]
    is_cold: bool
    row: LineCode

    @property
    def order(self) -> tuple[int, int]:
        return self.row.unit, self.row.row

    @property
    def rank(self) -> tuple[bool, bool, int]:
        return self.is_cold, not self.site.is_statement, self.site.address


class _Search:
    def __init__(self, module: ModuleSymbols, details: ModuleDetails) -> None:
        self._module = module
        self._frames = details.frames
        self._debug_info = details.debug_info
        self._lines = details.lines
        self._tables: dict[int, LineTable] = {}
        self._loops: dict[int, set[tuple[str | None, int]]] = {}  # by DIE of a call: where it loops over ranges
        self._calls: dict[int, tuple[Call, ...]] = {}
        self._optimized: dict[int, bool] = {}  # by unit
        self._inlined: dict[int, list[tuple[str, str | None, int]]] = {}  # by DIE: what was inlined into a function

    def sites(self, rows: Iterable[LineCode], line: int) -> list[LineSite]:
        groups: dict[tuple[int, int | None], list[_Found]] = {}
        for row in rows:
            found = self._found(row) if row.line == line else None
            if found is not None:
                groups.setdefault(found.key, []).append(found)
        with_code = {entry for entry, die in groups if die is not None}
        kept = [
            replace(site, is_exact=not self._is_optimized(site.address))
            for (entry, die), group in groups.items()
            if die is not None or entry not in with_code
            for site in (self._copies(group) if die else [min(group, key=lambda one: one.rank).site])
        ]
        return sorted(kept, key=lambda site: (site.line, site.address))

    def _copies(self, group: list[_Found]) -> list[LineSite]:
        """Of one call. gcc marks where each copy of a statement begins that it makes (tails of branches, unrolled
        loops); the line's first statement is the leftmost one. Others mark whatever they have moved, too."""
        best = min(group, key=lambda one: one.rank)
        statements = [one for one in group if one.site.is_statement]
        column = min((one.row.column for one in statements), default=0)
        first = sorted((one for one in statements if one.row.column == column), key=lambda one: one.order)
        begun = [one for before, one in pairwise(first) if self._is_apart(before.row, one)] if column else []
        if not begun or self._is_loop_over_range(best):
            return [best.site]
        if not self._marks_statements(best.site.address):
            return [best.site]
        return list({one.site.address: one.site for one in (first[0], *begun)}.values())

    def _is_apart(self, before: LineCode, one: _Found) -> bool:
        """Whether other lines of the same call begin between two pieces of a line, so that it is begun anew."""
        if before.unit != one.row.unit:
            return True
        if before.unit not in self._tables:
            self._tables[before.unit] = self._lines.table(before.unit)
        for row in self._tables[before.unit].statements_between(before, one.row):
            calls = self._calls_at(row.address)
            level = self._level(row, calls) if calls else 0
            if not calls or all(call.die_offset != one.key[1] for call in calls[level + 1 :]):
                return True  # else of what was inlined where the line calls it
        return False

    def _is_loop_over_range(self, one: _Found) -> bool:
        """`for (x : xs)`: its parts are marked alike, and are no copies."""
        die = one.key[1] or 0
        if die not in self._loops:
            self._loops[die] = self._frames.loops_over_ranges(die)
        return (one.row.file, one.row.line) in self._loops[die]

    def _is_optimized(self, address: int) -> bool:
        """As far as that is known. LLVM does not say it; but then variables move, for which there are lists."""
        unit = self._unit_at(address)
        if unit is None:
            return False
        if unit not in self._optimized:
            producer = self._debug_info.producer(unit)
            lists = "DW_AT_loclists_base" in self._debug_info.dwarf.get_CU_at(unit).get_top_DIE().attributes
            self._optimized[unit] = _OPTIMIZES.search(producer) is not None or (lists and " -O0" not in producer)
        return self._optimized[unit]

    def _unit_at(self, address: int) -> int | None:
        calls = self._calls_at(address)
        return self._debug_info.core.unit_offset(calls[-1].die_offset) if calls else None

    def _marks_statements(self, address: int) -> bool:
        unit = self._unit_at(address)
        producer = "" if unit is None else self._debug_info.producer(unit)
        return _MARKS_STATEMENTS.search(producer) is not None and "-gno-statement-frontiers" not in producer

    def _found(self, row: LineCode) -> _Found | None:
        function = self._module.function_at(row.address)
        if function is None or _belongs_before(row, function) or self._is_inside_instruction(row):
            return None
        calls = self._calls_at(row.address)
        other = self._other(row, calls)
        level = None if other else self._level(row, calls)
        inlined = (other,) if level is None else tuple(call.name for call in calls[level:-1])
        site = LineSite(row.address, function, row.file, row.line, row.is_statement, inlined, level)
        die = None if level is None else calls[level].die_offset if calls else 0
        is_cold = not function.address <= row.address < function.address + function.size
        return _Found(site, (function.address, die), is_cold, row)

    def _is_inside_instruction(self, row: LineCode) -> bool:
        """In assembler a prefix may have a line of its own: `lock`, `rep`."""
        if not row.file.endswith(_ASSEMBLER) or not 0 < row.gap <= _MOST_PREFIXES:
            return False
        before = code_at(self._module.path, row.address - row.gap, row.gap)
        return len(before) == row.gap and all(byte in _PREFIXES for byte in before)

    def _calls_at(self, address: int) -> tuple[Call, ...]:
        if address not in self._calls:
            self._calls[address] = self._frames.calls_at(address)
        return self._calls[address]

    def _level(self, row: LineCode, calls: tuple[Call, ...]) -> int:
        """Which call the line is of: several lines may begin at an address, those of calls around it among them."""
        for outer in range(1, len(calls)):
            inner, called = calls[outer - 1], calls[outer - 1].location
            is_there = called is not None and (called.file, called.line) == (row.file, row.line)
            if is_there and self._frames.begins_at(inner, row.address):
                return outer
        return next(iter(_nearest(row, calls)), 0)  # else of a macro's file, or one that was included

    def _other(self, row: LineCode, calls: tuple[Call, ...]) -> str:
        """A function that was inlined elsewhere, of which nothing but the mark of this line is left here; else ""."""
        if not calls:
            return ""
        nearest = [calls[number] for number in _nearest(row, calls)]
        if not nearest and all(call.file != row.file for call in calls):
            return ""
        line, inside = (nearest[0].line or 0, f"{nearest[0].name}::") if nearest else (0, "::")
        own = {call.name for call in calls}
        others = [
            (other, name)
            for name, file, other in self._inlined_in(calls[-1].die_offset)
            if file == row.file and line < other <= row.line and name not in own and not name.startswith(inside)
        ]
        return max(others)[1] if others else ""

    def _inlined_in(self, die: int) -> list[tuple[str, str | None, int]]:
        if die not in self._inlined:
            declared = [self._frames.declared(one) for one in self._frames.inlined_in(die)]
            self._inlined[die] = [(name, file, line or 0) for name, file, line in declared]
        return self._inlined[die]


def _nearest(row: LineCode, calls: tuple[Call, ...]) -> list[int]:
    """Numbers of the calls declared above a line in its file, the nearest first; of equal ones the innermost."""
    above = [n for n, call in enumerate(calls) if call.file == row.file and 0 < (call.line or 0) <= row.line]
    return sorted(above, key=lambda number: -(calls[number].line or 0))


def _belongs_before(row: LineCode, function: FunctionSymbol) -> bool:
    """Whether a row where a function begins is of the one before it, whose code ends there without a return: that comes
    before the first row of the function itself, which is the line of its declaration."""
    own = (function.source_file, function.line)
    is_entry = row.address == function.address and (row.file, row.line) != own
    return is_entry and own in row.behind and own not in row.before
