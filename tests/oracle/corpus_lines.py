"""Line tables as pyelftools decodes them, and what follows from them for addresses and lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from oracle.corpus_dies import Dies


@dataclass(frozen=True)
class Line:
    """A row of a table that has code: [address, end)."""

    address: int
    end: int
    file: str
    line: int
    column: int
    is_statement: bool
    begins: bool  # the row before it is of another line, or began no statement where this one does

    def __contains__(self, address: int) -> bool:
        return self.address <= address < self.end


def decoded(dies: Dies) -> list[Line]:
    """Every row of every table, without sequences that the linker threw away."""
    found: list[Line] = []
    for unit in dies.dwarf.iter_CUs():
        table = dies.dwarf.line_program_for_CU(unit)
        if table is None or unit.header.get("unit_type") == "DW_UT_type":  # has the table of another unit
            continue
        paths = dies.paths_of(unit)
        for states in _sequences(table):
            if states[0].address != 0:
                found += _lines(states, paths)
    return found


def at(lines: list[Line], address: int) -> Line | None:
    """Of several rows where the one of the address begins: the last that begins a statement, if there is one."""
    around = [index for index, line in enumerate(lines) if address in line]
    if not around:
        return None
    first = last = around[0]
    while first > 0 and lines[first - 1].address == lines[last].address == lines[first - 1].end:
        first -= 1
    statements = [line for line in lines[first : last + 1] if line.is_statement]
    return statements[-1] if statements else lines[last]


def _sequences(table: Any) -> Iterator[list[Any]]:
    states = []
    for entry in table.get_entries():
        if entry.state is None:
            continue
        states.append(entry.state)
        if entry.state.end_sequence:
            yield states
            states = []


def _lines(states: list[Any], paths: list[str]) -> Iterator[Line]:
    for before, state, after in zip([None, *states], states, states[1:], strict=False):
        begins = (
            before is None
            or (before.file, before.line) != (state.file, state.line)
            or (state.is_stmt and not before.is_stmt)
        )
        place = (paths[state.file], state.line, state.column, bool(state.is_stmt), begins)
        yield Line(state.address, after.address, *place)
