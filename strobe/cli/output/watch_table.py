"""What `strobe watch` keeps of each variable, and how it shows that: a table in place, or a line for each change."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

from strobe.cli.output.tables import table
from strobe.dataclass import dataclass
from strobe.report import wording
from strobe.report.palette import Palette
from strobe.values.decode import text
from strobe.values.model import PointerTo, Record
from strobe.values.reading import ReadResult

_FRESH_S = 1.0  # a change is marked so long
_HEADINGS = ("", "variable", "value", "min", "max", "changes", "last change")
_VALUE = _HEADINGS.index("value")
_NARROWEST = 8
_ABOVE_AND_BELOW = 3  # lines besides those of the variables


@dataclass(slots=True)
class Row:
    """One variable, or one field of one. Numbers have a least and a greatest value since the start."""

    name: str
    value: str
    least: float | None = None
    greatest: float | None = None
    changes: int = 0
    changed_s: float | None = None

    def take(self, value: str, number: float | None, now_s: float) -> bool:
        """Whether it has changed."""
        if number is not None and number == number:
            self.least = number if self.least is None else min(self.least, number)
            self.greatest = number if self.greatest is None else max(self.greatest, number)
        if value == self.value:
            return False
        self.value, self.changes, self.changed_s = value, self.changes + 1, now_s
        return True


class Rows:
    """Those of all variables, in their order."""

    def __init__(self) -> None:
        self.by_name: dict[str, Row] = {}

    def take(self, results: Sequence[ReadResult], now_s: float) -> list[tuple[Row, str | None]]:
        """What is new, with the value that it had before."""
        changed: list[tuple[Row, str | None]] = []
        for name, value, number in (leaf for result in results for leaf in _leaves_of(result)):
            row = self.by_name.get(name)
            before = None if row is None else row.value
            if row is None:
                row = self.by_name[name] = Row(name, value)
            if row.take(value, number, now_s) or before is None:
                changed.append((row, before))
        return changed


class Table:
    """On a terminal: written again in its place each time."""

    def __init__(self, stream: IO[str], palette: Palette, title: str) -> None:
        self._stream = stream
        self._palette = palette
        self._title = title
        self._rows = Rows()
        self._height = 0

    def begin(self) -> None:
        """Hides the cursor and the wrapping of lines; `end` brings them back."""
        self._write("\x1b[?25l\x1b[?7l")  # no cursor, and what is too long for a line is cut

    def end(self) -> None:
        """Gives the terminal back as it was."""
        self._write("\x1b[?25h\x1b[?7h")

    def show(self, results: Sequence[ReadResult], time_ns: int) -> None:
        """Draws the table over the last one. `time_ns`: since session start."""
        now_s = time.monotonic()
        self._rows.take(results, now_s)
        size = shutil.get_terminal_size()
        rows = list(self._rows.by_name.values())
        shown = rows[: max(size.lines - _ABOVE_AND_BELOW - 1, 1)]
        lines = [f"{self._title}  {wording.moment(time_ns)}", *self._table(shown, now_s, size.columns)]
        if len(shown) < len(rows):
            lines.append(self._palette.note(f"… {len(rows) - len(shown)} more: the terminal has no room for them"))
        back = f"\x1b[{self._height}A" if self._height else ""
        self._write(back + "\r" + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
        self._height = len(lines)

    def _table(self, rows: Sequence[Row], now_s: float, columns: int) -> list[str]:
        cells = [_cells(row, now_s) for row in rows]
        others = sum(
            max(len(line[at]) for line in (_HEADINGS, *cells)) + 2 for at in range(len(_HEADINGS)) if at != _VALUE
        )
        room = max(columns - others, _NARROWEST)
        fitting = [(*line[:_VALUE], _cut(line[_VALUE], room), *line[_VALUE + 1 :]) for line in cells]
        heading, *lines = table(_HEADINGS, fitting, self._palette, frozenset((3, 4, 5)))
        marked = (
            self._palette.changed(line) if _is_fresh(row, now_s) else line
            for row, line in zip(rows, lines, strict=True)
        )
        return [heading, *marked]

    def _write(self, sequence: str) -> None:
        self._stream.write(sequence)
        self._stream.flush()


class Lines:
    """Anywhere else: one line for each change, the first values included."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._rows = Rows()

    def begin(self) -> None:
        """Nothing to prepare: as Table.begin."""

    def end(self) -> None:
        """Nothing to give back: as Table.end."""

    def show(self, results: Sequence[ReadResult], time_ns: int) -> None:
        """A line for each value that has changed. `time_ns`: since session start."""
        for row, before in self._rows.take(results, time.monotonic()):
            was = "" if before is None else f"  (was {before})"
            self._stream.write(f"{wording.moment(time_ns)}  {row.name} = {row.value}{was}\n")
        self._stream.flush()


def _leaves_of(result: ReadResult) -> Iterator[tuple[str, str, float | None]]:
    """(name, value as shown, the value where it is a number) of a variable, or of its fields."""
    if result.error is not None:
        yield result.target, f"({result.error.message})", None
        return
    for name, value in _leaves(result.target, result.value):
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
        yield name, wording.one_line(text.shown(value)), number


def _leaves(name: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Record) and list(value):
        yield from _fields(value, f"{name}.")
    elif isinstance(value, PointerTo) and isinstance(value.to, Record):
        yield name, PointerTo(value.address, value.symbol)
        yield from _fields(value.to, f"{name}->")
    else:
        yield name, value


def _fields(record: Iterable[tuple[str, object]], path: str) -> Iterator[tuple[str, object]]:
    for field, value in record:
        yield from _leaves(path + field, value)


def _is_fresh(row: Row, now_s: float) -> bool:
    return row.changed_s is not None and now_s - row.changed_s < _FRESH_S


def _cells(row: Row, now_s: float) -> tuple[str, ...]:
    ago = "" if row.changed_s is None else f"{now_s - row.changed_s:.1f} s ago"
    bounds = ("" if bound is None else text.shown(bound) for bound in (row.least, row.greatest))
    return ("*" if _is_fresh(row, now_s) else "", row.name, row.value, *bounds, f"{row.changes:,}", ago)


def _cut(shown: str, width: int) -> str:
    return shown if len(shown) <= width else shown[: width - 1] + "…"
