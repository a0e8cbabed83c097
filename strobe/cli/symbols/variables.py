"""Globals and statics by name or pattern, with type and address, as `strobe symbols --variable` shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from strobe.cli.symbols.page import Page
from strobe.cli.symbols.subject import Subject
from strobe.dataclass import dataclass, field
from strobe.errors import failure
from strobe.symbols import Pattern
from strobe.symbols.dwarf.locations import AtAddress, ThreadLocal
from strobe.symbols.dwarf.rows import VariableRow
from strobe.symbols.names import scoped
from strobe.symbols.select.nearest import nearest_names
from strobe.symbols.variables import Variable


@dataclass
class VariableList:
    """`rows` of the index that are meant, by file and line; a Variable is read when it is shown."""

    rows: list[VariableRow] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)


def find_variables(subject: Subject, names: Sequence[str]) -> VariableList:
    """`names`: as Variables.find takes them, or patterns. Raises no_debug_information, invalid_pattern."""
    found = VariableList()
    rows: dict[tuple[int, bool], VariableRow] = {}
    for name in names:
        with subject.reading(f"'{name}'"):
            matches = {(row.address, row.is_thread_local): row for row in _matching(subject, name)}
        if not matches:
            found.misses.append(_miss(subject, name))
        rows |= matches
    found.rows = sorted(rows.values(), key=lambda row: (row.source_file or "~", row.line or 0, row.name))
    return found


def _matching(subject: Subject, name: str) -> Iterator[VariableRow]:
    debug_info = subject.details.debug_info
    table = debug_info.named.variables
    if name.startswith("@"):
        pattern = Pattern.parse(name, subject.root)
        rows = (table.row(number) for number in range(len(table.names())))
        return (row for row in rows if pattern.matches_file(row.source_file))
    if "*" in name:
        names = [scoped(text) for text in table.names()]
        return (table.row(number) for number in Pattern.parse(name).matching_names(names))
    locations = {_location(variable) for variable in subject.details.variables.find(name)}
    rows = (row for row in debug_info.find_variables(name.rpartition("::")[2]))
    return (row for row in rows if (row.address, row.is_thread_local) in locations)


def _location(variable: Variable) -> tuple[int, bool]:
    """As rows have it: the address, or the offset of a thread-local one."""
    where = variable.location
    if isinstance(where, ThreadLocal):
        return where.offset, True
    return where.address if isinstance(where, AtAddress) else 0, False


def _miss(subject: Subject, name: str) -> str:
    near = nearest_names(name, subject.details.debug_info.named.variables.names())
    hint = f"Names like it: {', '.join(near)}." if near else ""
    return str(failure("no_such_symbol", path=subject.named, kind="global or static variable", symbol=name, hint=hint))


def variable_at(subject: Subject, address: int) -> Variable | None:
    """The global or static variable that a link-time address lies in."""
    details = subject.resolver.details(subject.path)
    if details is None:
        return None
    table = details.debug_info.named.variables
    rows = (table.row(number) for number in range(len(table.names())))
    before = [row for row in rows if row.address <= address and not row.is_thread_local]
    if not before:
        return None
    nearest = _read(subject, max(before, key=lambda row: row.address))
    return nearest if address < _location(nearest)[0] + (nearest.type.size or 1) else None


def address_of(subject: Subject, name: str) -> int | None:
    """Of the variable called so; None where there is none, or only a thread-local one."""
    details = subject.resolver.details(subject.path)
    if details is None:
        return None
    with subject.reading(f"'{name}'"):
        locations = [_location(variable) for variable in details.variables.find(name)]
    return next((address for address, is_thread_local in locations if not is_thread_local), None)


def variable_lines(subject: Subject, found: VariableList, page: Page) -> list[str]:
    """As functions are listed: by file, in the order of the source."""
    shown = [_read(subject, row) for row in page.shown(found.rows)]
    lines: list[str] = []
    numbers = max((len(str(variable.line or "")) for variable in shown), default=0)
    width = max((len(_where(variable)) for variable in shown), default=0)
    for file, group in groupby(shown, key=lambda variable: variable.file):
        heading = page.palette.heading(subject.source(file) or "without source")
        lines += ["", heading] if lines else [heading]
        for variable in group:
            left = f"  {variable.line or '':>{numbers}}  {_where(variable):>{width}}  {_size(variable):>6}  "
            name = page.fit(variable.type.declare(variable.name), len(left) + len(_notes(variable)))
            painted = name.replace(variable.name, page.palette.function(variable.name), 1)
            lines.append(f"{left}{painted}{page.palette.note(_notes(variable))}")
    return [*lines, *page.rest(len(found.rows))]


def _read(subject: Subject, row: VariableRow) -> Variable:
    with subject.reading(f"'{row.name}'"):
        found = subject.details.variables.find(row.name)
    return next(variable for variable in found if _location(variable) == (row.address, row.is_thread_local))


def _where(variable: Variable) -> str:
    return f"{'tls+' if variable.is_thread_local else ''}{_location(variable)[0]:#x}"


def _size(variable: Variable) -> str:
    return "?" if variable.type.size is None else f"{variable.type.size} B"


def _notes(variable: Variable) -> str:
    notes = ["thread-local"] if variable.is_thread_local else []
    notes += [] if variable.is_external else ["static"]
    return "".join(f"  {note}" for note in notes)


def variables_json(subject: Subject, found: VariableList, limit: int | None) -> list[dict[str, Any]]:
    """The first `limit` variables (None: all) with type and address."""
    rows = found.rows if limit is None else found.rows[:limit]
    return [_variable_json(_read(subject, row)) for row in rows]


def _variable_json(variable: Variable) -> dict[str, Any]:
    return {
        "name": variable.name,
        "linkageName": variable.linkage_name,
        "type": variable.type.name,
        "size": variable.type.size,
        "address": None if variable.is_thread_local else _where(variable),
        "threadLocalOffset": _location(variable)[0] if variable.is_thread_local else None,
        "file": variable.file,
        "line": variable.line,
        "isExternal": variable.is_external,
    }
