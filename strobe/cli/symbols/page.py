"""How the answers of `strobe symbols` are laid out: what fits on a screen, names that are too wide, sizes, places."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from typing import TypeVar

from strobe.dataclass import dataclass
from strobe.report.palette import Palette

_PIPE_LIMIT = 200
_LEAST_LIMIT = 20
_CHROME_LINES = 8  # of a screen: the prompt, headings, the line about the rest
_ARGUMENTS = re.compile(r"(?<!operator)<(?!…>)(?:[^<>]|<…>)+(?<!-)>")
_UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))
_T = TypeVar("_T")


@dataclass(frozen=True)
class Page:
    """`limit`: rows of one list, None for all. `width` in columns, None where lines may be as long as they are."""

    palette: Palette
    limit: int | None
    width: int | None
    verbose: bool = False

    @staticmethod
    def of(limit: int | None, everything: bool, verbose: bool) -> Page:
        """For standard output: a terminal gets a screenful, a pipe some more, unless it was said how much."""
        on_terminal = sys.stdout.isatty()
        size = shutil.get_terminal_size()
        usual = max(size.lines - _CHROME_LINES, _LEAST_LIMIT) if on_terminal else _PIPE_LIMIT
        width = size.columns if on_terminal and not verbose else None
        return Page(Palette.of(sys.stdout), None if everything else limit or usual, width, verbose)

    def shown(self, items: Sequence[_T]) -> Sequence[_T]:
        """The items that fit on the page."""
        return items if self.limit is None else items[: self.limit]

    def rest(self, count: int, noun: str = "") -> list[str]:
        """The line about what is not shown, where `count` are more than the limit."""
        if self.limit is None or count <= self.limit:
            return []
        what = f" {noun}" if noun else ""
        return [self.palette.note(f"… and {count - self.limit:,} more{what} (--all, or --limit N)")]

    def fit(self, text: str, indent: int) -> str:
        """`text`, shortened to what is left of the line beside `indent` columns."""
        return text if self.width is None else shorten(text, max(self.width - indent, 24))


def shorten(text: str, width: int) -> str:
    """Template arguments become `<…>`, longest first; what is too wide even so is cut."""
    while len(text) > width:
        groups = list(_ARGUMENTS.finditer(text))
        if not groups:
            return text[: width - 1] + "…"
        longest = max(groups, key=lambda match: match.end() - match.start())
        text = f"{text[: longest.start()]}<…>{text[longest.end() :]}"
    return text


def size(count: int) -> str:
    """Bytes as a person reads them: "812 B", "3.2 KB", "347 MB"."""
    for unit, name in _UNITS:
        if count >= unit:
            value = count / unit
            return f"{value:.1f} {name}" if value < 9.95 else f"{value:,.0f} {name}"
    return f"{count} B"


def position(file: str, line: int | None, column: int | None = None) -> str:
    """ "a.cpp:12:5", without what is not known."""
    if not file:
        return "??"
    numbers = [str(number) for number in (line, column) if number]
    return ":".join([file, *numbers])
